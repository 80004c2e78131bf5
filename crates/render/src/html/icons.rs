//! Icons as inline SVG on a grid of 16 units. They inherit the text colour and, unlike symbol characters, look the same in every
//! font.

/// Returns an icon that is hidden from screen readers: the button around it has a label.
macro_rules! icon {
    ($shape:literal) => {
        icon!("", $shape)
    };
    ($class:literal, $shape:literal) => {
        concat!(
            "<svg class=\"icon",
            $class,
            "\" viewBox=\"0 0 16 16\" aria-hidden=\"true\">",
            $shape,
            "</svg>"
        )
    };
}

pub(crate) const PLAY: &str = icon!(" play", "<path d=\"M4 2.5v11L13 8z\"/>");
pub(crate) const PAUSE: &str = icon!(" pause", "<path d=\"M3.5 2.5h3v11h-3zM9.5 2.5h3v11h-3z\"/>");
pub(crate) const PREVIOUS: &str = icon!("<path d=\"M2.5 3h2v10h-2zM13.5 3v10L6 8z\"/>");
pub(crate) const NEXT: &str = icon!("<path d=\"M11.5 3h2v10h-2zM2.5 3v10L10 8z\"/>");
pub(crate) const CLOSE: &str = icon!("<path class=\"s\" d=\"M4 4l8 8M12 4l-8 8\"/>");
pub(crate) const UP: &str = icon!("<path class=\"s\" d=\"M8 13V3M3.5 7.5L8 3l4.5 4.5\"/>");
pub(crate) const DOWN: &str = icon!("<path class=\"s\" d=\"M8 3v10M3.5 8.5L8 13l4.5-4.5\"/>");
pub(crate) const MENU: &str = icon!("<path class=\"s\" d=\"M2.5 4h11M2.5 8h11M2.5 12h11\"/>");
pub(crate) const HOME: &str = icon!("<path class=\"s\" d=\"M2 8l6-5.5L14 8M4 7v6.5h8V7\"/>");
pub(crate) const THEME: &str =
    icon!("<circle class=\"s\" cx=\"8\" cy=\"8\" r=\"5.5\"/><path d=\"M8 2.5a5.5 5.5 0 0 1 0 11z\"/>");
