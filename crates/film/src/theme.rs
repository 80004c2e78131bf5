//! The colours of films. A test ensures enough contrast between text and background.

use transcript::Agent;

use super::scene::{Background, TextColor};

/// Red, green, blue.
pub(crate) type Color = [u8; 3];

/// Whether a film is light or dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    #[default]
    Dark,
    Light,
}

const fn hex(color: u32) -> Color {
    let [_, red, green, blue] = color.to_be_bytes();
    [red, green, blue]
}

/// The sixteen ANSI colours.
const DARK_ANSI: [u32; 16] = [
    0x5c6370, 0xf47067, 0x8ddb8c, 0xe5c07b, 0x6cb6ff, 0xdcbdfb, 0x76d7e0, 0xc9d1d9, 0x8b949e, 0xff8f87, 0xa8e6a1,
    0xf2d590, 0x96d0ff, 0xe2c5ff, 0x9be9f0, 0xffffff,
];
const LIGHT_ANSI: [u32; 16] = [
    0x24292f, 0xb3261e, 0x1a7f37, 0x8a6100, 0x0550ae, 0x7a3ea8, 0x11707e, 0x57606a, 0x6e7781, 0xcf222e, 0x117a2d,
    0x9a6700, 0x0969da, 0x8250df, 0x1b7c83, 0x1f2328,
];

impl Theme {
    pub(crate) fn text_color(self, meaning: TextColor, agent: Agent) -> Color {
        let (dark, light) = match meaning {
            TextColor::Plain => (0xe6edf3, 0x1f2328),
            TextColor::Dim => (0xa3adb8, 0x57606a),
            TextColor::Faint => (0x76818d, 0x7d8590),
            TextColor::Human => (0x79c0ff, 0x0969da),
            TextColor::Agent => agent_colors(agent),
            TextColor::Good => (0x7ee787, 0x116329),
            TextColor::Bad => (0xff8f87, 0xb3261e),
            TextColor::Warn => (0xe3b341, 0x8a6100),
            TextColor::Code => (0xb6d5f5, 0x0b3d78),
            TextColor::Ansi(number) => {
                let at = usize::from(number & 15);
                (DARK_ANSI[at], LIGHT_ANSI[at])
            }
        };
        hex(self.pick(dark, light))
    }

    pub(crate) fn background_color(self, background: Background) -> Color {
        let (dark, light) = match background {
            Background::Page => (0x0f141a, 0xfdfdfc),
            Background::Bar => (0x1a212a, 0xeef1f4),
            Background::Human => (0x17263a, 0xe6f0fb),
            Background::Added => (0x12301f, 0xdcf5e3),
            Background::Removed => (0x3a1a1d, 0xfbe3e1),
            Background::Code => (0x1a212a, 0xf1f3f5),
            Background::Good => (0x123a22, 0xcdf0d6),
            Background::Bad => (0x4a1b1f, 0xf8d3d0),
            Background::Ansi(number) => {
                let at = usize::from(number & 7);
                (mix(DARK_ANSI[at], 0x0f141a), mix(LIGHT_ANSI[at], 0xfdfdfc))
            }
        };
        hex(self.pick(dark, light))
    }

    /// Returns the colour of the part of the progress bar that is not reached yet.
    pub(crate) fn track_color(self) -> Color {
        hex(self.pick(0x2a333d, 0xd9dee3))
    }

    fn pick(self, dark: u32, light: u32) -> u32 {
        match self {
            Self::Dark => dark,
            Self::Light => light,
        }
    }
}

/// Mixes a third of a colour with its background, so that text on an ANSI background stays readable.
fn mix(over: u32, under: u32) -> u32 {
    let (over, under) = (hex(over), hex(under));
    let part = |at: usize| (u32::from(over[at]) + 2 * u32::from(under[at])) / 3;
    part(0) << 16 | part(1) << 8 | part(2)
}

fn agent_colors(agent: Agent) -> (u32, u32) {
    match agent {
        Agent::Claude => (0xe8916f, 0xb4532a),
        Agent::Codex => (0x5fd3b3, 0x0b7a5d),
        Agent::Grok => (0xb9a5f5, 0x6a45c9),
    }
}

/// Returns the colour that an emoji suggests, because our emoji font is monochrome.
pub(crate) fn emoji_color(character: char) -> Option<TextColor> {
    // Only emoji whose colour carries meaning, such as check marks and warnings.
    Some(match character {
        '✅' | '✔' | '🟢' | '🟩' | '💚' | '🌱' | '🌿' | '🎄' => TextColor::Good,
        '❌' | '❗' | '⛔' | '🛑' | '🔴' | '🟥' | '❤' | '🔥' | '🚨' | '💥' | '🐛' => TextColor::Bad,
        '⚠' | '🟡' | '🟨' | '🟠' | '⭐' | '🌟' | '✨' | '💡' | '⚡' | '🔑' | '🏆' | '📁' | '📂' | '😀'..='🙏' => {
            TextColor::Warn
        }
        '🔵' | '🟦' | '💙' | '💧' | '🌍' | '🌎' | '🌐' | '🔍' | '🔎' | '📝' | 'ℹ' => {
            TextColor::Human
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the relative luminance of a colour, as WCAG defines it.
    fn brightness(color: Color) -> f64 {
        let parts = color.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    }

    fn contrast(a: Color, b: Color) -> f64 {
        let (a, b) = (brightness(a), brightness(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_has_enough_contrast_on_every_background() {
        let on_page = [
            TextColor::Plain,
            TextColor::Dim,
            TextColor::Human,
            TextColor::Agent,
            TextColor::Good,
            TextColor::Bad,
            TextColor::Warn,
            TextColor::Code,
        ];
        for theme in [Theme::Dark, Theme::Light] {
            for agent in Agent::ALL {
                for color in on_page {
                    let ratio = contrast(theme.text_color(color, agent), theme.background_color(Background::Page));
                    assert!(ratio >= 4.5, "{theme:?} {agent:?} {color:?}: {ratio}");
                }
            }
            let agent = Agent::Claude;
            for number in 0..16 {
                let ratio = contrast(
                    theme.text_color(TextColor::Ansi(number), agent),
                    theme.background_color(Background::Page),
                );
                assert!(ratio >= 3.0, "{theme:?} {number}: {ratio}");
            }
            let pairs = [
                (TextColor::Plain, Background::Added),
                (TextColor::Plain, Background::Removed),
                (TextColor::Good, Background::Added),
                (TextColor::Bad, Background::Removed),
                (TextColor::Good, Background::Good),
                (TextColor::Bad, Background::Bad),
                (TextColor::Plain, Background::Human),
                (TextColor::Human, Background::Human),
                (TextColor::Code, Background::Code),
                (TextColor::Dim, Background::Bar),
            ];
            for (color, background) in pairs {
                let ratio = contrast(theme.text_color(color, agent), theme.background_color(background));
                assert!(ratio >= 4.5, "{theme:?} {color:?} on {background:?}: {ratio}");
            }
        }
    }
}
