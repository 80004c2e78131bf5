//! ffmpeg decodes exactly the pixels that the encoder reconstructs.

use super::*;
use crate::ffmpeg;

/// A deterministic random number generator.
struct TestRandom(u64);

impl TestRandom {
    fn below(&mut self, sides: u64) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % sides).unwrap()
    }
}

/// Paints a rectangle of one colour or of noise.
fn paint(picture: &mut [Plane; 3], random: &mut TestRandom) {
    let (width, height) = (picture[0].width, picture[0].height());
    let (x, y) = (random.below(width as u64) / 2 * 2, random.below(height as u64) / 2 * 2);
    let (w, h) = (random.below(80) / 2 * 2, random.below(40) / 2 * 2);
    let noise = random.below(3) * 60;
    for (at, plane) in picture.iter_mut().enumerate() {
        let half = if at == 0 { 1 } else { 2 };
        let shade = random.below(256);
        for py in y / half..((y + h) / half).min(height / half) {
            for px in x / half..((x + w) / half).min(width / half) {
                let shade = shade + if noise > 0 { random.below(noise as u64) } else { 0 };
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
fn ffmpeg_decodes_what_the_encoder_reconstructs() {
    for (qp, width, height) in [(10, 320, 176), (20, 320, 176), (37, 330, 184)] {
        let mut random = TestRandom(u64::from(qp));
        let mut encoder = H264Encoder::new(width, height, 30, qp);
        let mut picture = blank_planes(width, height);
        let mut stream = Vec::new();
        let mut unit = |unit: Vec<u8>| {
            stream.extend([0, 0, 0, 1]);
            stream.extend(unit);
        };
        unit(encoder.sequence_parameter_set());
        unit(encoder.picture_parameter_set());
        let mut expected = Vec::new();
        for frame in 0..40 {
            for _ in 0..random.below(12) {
                paint(&mut picture, &mut random);
            }
            let scrolled = random.below(3) * 24;
            scroll(&mut picture, scrolled);
            match frame % 15 {
                0 => unit(encoder.encode_key_frame(&picture)),
                7 => {
                    unit(encoder.encode_frame(&picture, scrolled));
                    expected.push(encoder.current.clone());
                    unit(encoder.encode_unchanged_frame());
                }
                _ => unit(encoder.encode_frame(&picture, scrolled)),
            }
            expected.push(encoder.current.clone());
        }
        let Some(seen) = ffmpeg::decode(&stream) else { return };
        let expected: Vec<u8> = expected
            .iter()
            .flat_map(|planes| cropped(planes, width, height))
            .collect();
        assert_eq!(seen.len(), expected.len());
        let differs = seen.iter().zip(&expected).position(|(a, b)| a != b);
        assert_eq!(differs, None, "at qp {qp}, of {}", seen.len());
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
fn a_still_frame_is_tiny_and_a_scrolled_one_small() {
    let mut random = TestRandom(7);
    let mut encoder = H264Encoder::new(640, 368, 30, 20);
    let mut picture = blank_planes(640, 368);
    for _ in 0..60 {
        paint(&mut picture, &mut random);
    }
    let whole = encoder.encode_key_frame(&picture).len();
    assert!(encoder.encode_unchanged_frame().len() < 16);
    assert!(encoder.encode_frame(&picture, 0).len() < 16);
    scroll(&mut picture, 24);
    let scrolled = encoder.encode_frame(&picture, 24).len();
    assert!(scrolled * 10 < whole, "{scrolled} of {whole}");
}
