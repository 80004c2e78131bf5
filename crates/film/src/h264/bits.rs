//! Writes the bit stream of H.264: fixed-length fields, Exp-Golomb codes, NAL units.

/// Collects bits, most significant first.
#[derive(Debug, Default, Clone)]
pub(crate) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits that do not fill a byte yet; `count` is their number.
    pending: u64,
    count: u32,
}

impl BitWriter {
    /// Writes the lowest `count` bits of a number, at most 32.
    pub(crate) fn put(&mut self, value: u32, count: u32) {
        self.pending = (self.pending << count) | u64::from(value & low_bits(count));
        self.count += count;
        while self.count >= 8 {
            self.count -= 8;
            self.bytes.push((self.pending >> self.count).to_le_bytes()[0]);
        }
    }

    pub(crate) fn flag(&mut self, is: bool) {
        self.put(u32::from(is), 1);
    }

    /// Writes an unsigned Exp-Golomb code, `ue(v)` in the standard.
    pub(crate) fn ue(&mut self, value: u32) {
        let number = value + 1;
        let length = 32 - number.leading_zeros();
        self.put(0, length - 1);
        self.put(number, length);
    }

    /// Writes a signed Exp-Golomb code, `se(v)` in the standard: 0, 1, -1, 2, -2, …
    pub(crate) fn se(&mut self, value: i32) {
        let number = value.unsigned_abs() * 2;
        self.ue(if value > 0 { number - 1 } else { number });
    }

    /// Returns the bits as a NAL unit: with the stop bit, padded to whole bytes, and with emulation prevention bytes, so that nothing in
    /// it looks like a start code.
    pub(crate) fn finish_nal_unit(mut self, header: u8) -> Vec<u8> {
        self.put(1, 1);
        let rest = (8 - self.count) % 8;
        self.put(0, rest);
        let mut unit = Vec::with_capacity(self.bytes.len() + self.bytes.len() / 64 + 4);
        unit.push(header);
        let mut zeros = 0;
        for byte in self.bytes {
            // Two zero bytes followed by a byte up to 3 must not occur inside a unit.
            if zeros == 2 && byte <= 3 {
                unit.push(3);
                zeros = 0;
            }
            zeros = if byte == 0 { zeros + 1 } else { 0 };
            unit.push(byte);
        }
        unit
    }
}

fn low_bits(count: u32) -> u32 {
    u32::MAX.checked_shr(32 - count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(write: impl FnOnce(&mut BitWriter)) -> Vec<u8> {
        let mut bits = BitWriter::default();
        write(&mut bits);
        bits.finish_nal_unit(0x65)
    }

    #[test]
    fn codes_match_the_standard() {
        // 1, 010, 011, 00100, and the stop bit.
        assert_eq!(
            bits(|bits| (0..4).for_each(|n| bits.ue(n))),
            [0x65, 0b1010_0110, 0b0100_1000]
        );
        assert_eq!(
            bits(|bits| [0, 1, -1, 2].into_iter().for_each(|n| bits.se(n))),
            [0x65, 0b1010_0110, 0b0100_1000]
        );
    }

    #[test]
    fn start_codes_inside_a_unit_are_escaped() {
        let unit = bits(|bits| bits.put(1, 32));
        assert_eq!(unit, [0x65, 0, 0, 3, 0, 1, 0x80]);
        assert_eq!(bits(|bits| bits.put(0, 24)), [0x65, 0, 0, 3, 0, 0x80]);
    }
}
