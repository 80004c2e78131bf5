//! HTML under construction: what the modules that draw steps write into.

use transcript::Image;

use crate::escape;

/// Image types that browsers display and that cannot contain scripts, unlike SVG.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// HTML under construction, and the parts of it that are drawn only on request.
#[derive(Debug, Default)]
pub(crate) struct CardHtml {
    pub(crate) html: String,
    pub(crate) extras: Vec<String>,
    /// The number of the first extra, because extras are numbered across the whole page.
    pub(crate) first_extra: usize,
}

impl CardHtml {
    /// Appends a button that draws `html` when it is pressed.
    pub(crate) fn more(&mut self, label: &str, html: String) {
        let number = self.extra(html);
        self.html
            .push_str(&format!("<button class=\"more\" data-x=\"{number}\">{label}</button>"));
    }

    /// Stores HTML as an extra and returns its number.
    pub(crate) fn extra(&mut self, html: String) -> usize {
        self.extras.push(html);
        self.first_extra + self.extras.len() - 1
    }

    /// Appends an image that is embedded in the log. Any other type is only named.
    pub(crate) fn image(&mut self, image: &Image) {
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
        let known = IMAGE_TYPES.into_iter().find(|known| *known == image.media_type);
        match known.filter(|_| !image.data.is_empty() && image.data.bytes().all(is_base64)) {
            Some(known) => {
                let html = format!(
                    "<img class=\"pic\" alt=\"picture in the log\" loading=\"lazy\" src=\"data:{known};base64,{}\">",
                    image.data
                );
                self.html.push_str(&html);
            }
            None => {
                self.html.push_str("<p class=\"none\">picture of type ");
                escape::push_inside(&mut self.html, &image.media_type);
                self.html.push_str("</p>");
            }
        }
    }
}
