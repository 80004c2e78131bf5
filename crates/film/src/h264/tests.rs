//! What ffmpeg decodes is, point by point, what the encoder believes to be seen.

use super::*;
use crate::probe;

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % sides).unwrap()
    }
}

/// Paints a square of a colour, or one of noise.
fn paint(picture: &mut [Plane; 3], dice: &mut Dice) {
    let (width, height) = (picture[0].width, picture[0].height());
    let (x, y) = (dice.throw(width as u64) / 2 * 2, dice.throw(height as u64) / 2 * 2);
    let (w, h) = (dice.throw(80) / 2 * 2, dice.throw(40) / 2 * 2);
    let noise = dice.throw(3) * 60;
    for (at, plane) in picture.iter_mut().enumerate() {
        let half = if at == 0 { 1 } else { 2 };
        let shade = dice.throw(256);
        for py in y / half..((y + h) / half).min(height / half) {
            for px in x / half..((x + w) / half).min(width / half) {
                let shade = shade + if noise > 0 { dice.throw(noise as u64) } else { 0 };
                plane.bytes[py * plane.width + px] = shade.min(255) as u8;
            }
        }
    }
}

fn scroll(picture: &mut [Plane; 3], lines: usize) {
    for (at, plane) in picture.iter_mut().enumerate() {
        let lines = if at == 0 { lines } else { lines / 2 };
        plane.bytes.copy_within(lines * plane.width.., 0);
    }
}

#[test]
fn ffmpeg_sees_what_the_encoder_sees() {
    for (coarseness, width, height) in [(10, 320, 176), (20, 320, 176), (37, 330, 184)] {
        let mut dice = Dice(u64::from(coarseness));
        let mut encoder = Encoder::new(width, height, 30, coarseness);
        let mut picture = blank(width, height);
        let mut stream = Vec::new();
        let mut unit = |unit: Vec<u8>| {
            stream.extend([0, 0, 0, 1]);
            stream.extend(unit);
        };
        unit(encoder.sequence_unit());
        unit(encoder.picture_unit());
        let mut expected = Vec::new();
        for frame in 0..40 {
            for _ in 0..dice.throw(12) {
                paint(&mut picture, &mut dice);
            }
            let scrolled = dice.throw(3) * 24;
            scroll(&mut picture, scrolled);
            match frame % 15 {
                0 => unit(encoder.key(&picture)),
                7 => {
                    unit(encoder.next(&picture, scrolled));
                    expected.push(encoder.now.clone());
                    unit(encoder.same());
                }
                _ => unit(encoder.next(&picture, scrolled)),
            }
            expected.push(encoder.now.clone());
        }
        let Some(seen) = probe::decode(&stream) else { return };
        let expected: Vec<u8> = expected
            .iter()
            .flat_map(|planes| cropped(planes, width, height))
            .collect();
        assert_eq!(seen.len(), expected.len());
        let differs = seen.iter().zip(&expected).position(|(a, b)| a != b);
        assert_eq!(differs, None, "at coarseness {coarseness}, of {}", seen.len());
    }
}

fn cropped(planes: &[Plane; 3], width: usize, height: usize) -> Vec<u8> {
    let of_plane = |(at, plane): (usize, &Plane)| {
        let half = if at == 0 { 1 } else { 2 };
        let lines = plane.bytes.chunks(plane.width).take(height / half);
        lines
            .flat_map(|line| line[..width / half].to_vec())
            .collect::<Vec<u8>>()
    };
    planes.iter().enumerate().flat_map(of_plane).collect()
}

#[test]
fn a_still_picture_costs_next_to_nothing_and_a_scrolled_one_little() {
    let mut dice = Dice(7);
    let mut encoder = Encoder::new(640, 368, 30, 20);
    let mut picture = blank(640, 368);
    for _ in 0..60 {
        paint(&mut picture, &mut dice);
    }
    let whole = encoder.key(&picture).len();
    assert!(encoder.same().len() < 16);
    assert!(encoder.next(&picture, 0).len() < 16);
    scroll(&mut picture, 24);
    let scrolled = encoder.next(&picture, 24).len();
    assert!(scrolled * 10 < whole, "{scrolled} of {whole}");
}
