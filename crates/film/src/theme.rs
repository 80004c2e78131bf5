//! Which colours a film has. Text keeps enough contrast on everything that it can stand on.

use transcript::Agent;

use super::scene::{Ground, Ink};

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

/// The sixteen colours of a terminal.
const DARK_ANSI: [u32; 16] = [
    0x5c6370, 0xf47067, 0x8ddb8c, 0xe5c07b, 0x6cb6ff, 0xdcbdfb, 0x76d7e0, 0xc9d1d9, 0x8b949e, 0xff8f87, 0xa8e6a1,
    0xf2d590, 0x96d0ff, 0xe2c5ff, 0x9be9f0, 0xffffff,
];
const LIGHT_ANSI: [u32; 16] = [
    0x24292f, 0xb3261e, 0x1a7f37, 0x8a6100, 0x0550ae, 0x7a3ea8, 0x11707e, 0x57606a, 0x6e7781, 0xcf222e, 0x117a2d,
    0x9a6700, 0x0969da, 0x8250df, 0x1b7c83, 0x1f2328,
];

impl Theme {
    pub(crate) fn ink(self, ink: Ink, agent: Agent) -> Color {
        let (dark, light) = match ink {
            Ink::Plain => (0xe6edf3, 0x1f2328),
            Ink::Dim => (0xa3adb8, 0x57606a),
            Ink::Faint => (0x76818d, 0x7d8590),
            Ink::Human => (0x79c0ff, 0x0969da),
            Ink::Agent => agent_colors(agent),
            Ink::Good => (0x7ee787, 0x116329),
            Ink::Bad => (0xff8f87, 0xb3261e),
            Ink::Warn => (0xe3b341, 0x8a6100),
            Ink::Code => (0xb6d5f5, 0x0b3d78),
            Ink::Ansi(number) => {
                let at = usize::from(number & 15);
                (DARK_ANSI[at], LIGHT_ANSI[at])
            }
        };
        hex(self.of(dark, light))
    }

    pub(crate) fn ground(self, ground: Ground) -> Color {
        let (dark, light) = match ground {
            Ground::Page => (0x0f141a, 0xfdfdfc),
            Ground::Bar => (0x1a212a, 0xeef1f4),
            Ground::Human => (0x17263a, 0xe6f0fb),
            Ground::Added => (0x12301f, 0xdcf5e3),
            Ground::Removed => (0x3a1a1d, 0xfbe3e1),
            Ground::Code => (0x1a212a, 0xf1f3f5),
            Ground::Good => (0x123a22, 0xcdf0d6),
            Ground::Bad => (0x4a1b1f, 0xf8d3d0),
            Ground::Ansi(number) => {
                let at = usize::from(number & 7);
                (mix(DARK_ANSI[at], 0x0f141a), mix(LIGHT_ANSI[at], 0xfdfdfc))
            }
        };
        hex(self.of(dark, light))
    }

    /// The line that is not yet reached.
    pub(crate) fn track(self) -> Color {
        hex(self.of(0x2a333d, 0xd9dee3))
    }

    fn of(self, dark: u32, light: u32) -> u32 {
        match self {
            Self::Dark => dark,
            Self::Light => light,
        }
    }
}

/// A third of one colour over another: what is written on a terminal's coloured ground stays readable.
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

/// Some emoji mean a colour. All of ours are drawn in one.
pub(crate) fn tint(sign: char) -> Option<Ink> {
    Some(match sign {
        '✅' | '✔' | '🟢' | '🟩' | '💚' | '🌱' | '🌿' | '🎄' => Ink::Good,
        '❌' | '❗' | '⛔' | '🛑' | '🔴' | '🟥' | '❤' | '🔥' | '🚨' | '💥' | '🐛' => Ink::Bad,
        '⚠' | '🟡' | '🟨' | '🟠' | '⭐' | '🌟' | '✨' | '💡' | '⚡' | '🔑' | '🏆' | '📁' | '📂' | '😀'..='🙏' => {
            Ink::Warn
        }
        '🔵' | '🟦' | '💙' | '💧' | '🌍' | '🌎' | '🌐' | '🔍' | '🔎' | '📝' | 'ℹ' => Ink::Human,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How bright a colour is, as contrasts are counted.
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
    fn text_can_be_read_on_everything_that_it_stands_on() {
        let on_page = [
            Ink::Plain,
            Ink::Dim,
            Ink::Human,
            Ink::Agent,
            Ink::Good,
            Ink::Bad,
            Ink::Warn,
            Ink::Code,
        ];
        for theme in [Theme::Dark, Theme::Light] {
            for agent in Agent::ALL {
                for ink in on_page {
                    let told = contrast(theme.ink(ink, agent), theme.ground(Ground::Page));
                    assert!(told >= 4.5, "{theme:?} {agent:?} {ink:?}: {told}");
                }
            }
            let agent = Agent::Claude;
            for number in 0..16 {
                let told = contrast(theme.ink(Ink::Ansi(number), agent), theme.ground(Ground::Page));
                assert!(told >= 3.0, "{theme:?} {number}: {told}");
            }
            let pairs = [
                (Ink::Plain, Ground::Added),
                (Ink::Plain, Ground::Removed),
                (Ink::Good, Ground::Added),
                (Ink::Bad, Ground::Removed),
                (Ink::Good, Ground::Good),
                (Ink::Bad, Ground::Bad),
                (Ink::Plain, Ground::Human),
                (Ink::Human, Ground::Human),
                (Ink::Code, Ground::Code),
                (Ink::Dim, Ground::Bar),
            ];
            for (ink, ground) in pairs {
                let told = contrast(theme.ink(ink, agent), theme.ground(ground));
                assert!(told >= 4.5, "{theme:?} {ink:?} on {ground:?}: {told}");
            }
        }
    }
}
