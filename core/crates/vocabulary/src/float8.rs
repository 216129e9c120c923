//! Floating-point numbers of 8 bits, as the Open Compute Project defines them (OFP8, revision 1.0).
//!
//! Conversion from `f32` rounds to nearest, ties to even, and saturates: a value beyond the largest finite number, or an infinity, becomes
//! the largest finite number with its sign. Every NaN becomes [`NAN`]. All of it is integer arithmetic, so `nvshmemrs_device.cuh`, which has
//! the same lines, computes the same bits on every GPU.

/// The NaN that conversion gives, in both types.
const NAN: u8 = 0x7f;

/// The number with sign bit, exponent and `mantissa` bits in `code`, which is not NaN or infinity.
const fn widened(code: u8, mantissa: u32, bias: u32) -> f32 {
    let (sign, magnitude) = ((code as u32 & 0x80) << 24, code as u32 & 0x7f);
    let bits = if magnitude >> mantissa == 0 {
        // A multiple of the smallest subnormal number, 2^(1 - bias - mantissa).
        let unit = f32::from_bits((128 - bias - mantissa) << 23);
        (magnitude as f32 * unit).to_bits()
    } else {
        (magnitude << (23 - mantissa)) + ((127 - bias) << 23)
    };
    f32::from_bits(sign | bits)
}

/// The nearest number with `mantissa` bits, at most `max`.
const fn narrowed(value: f32, mantissa: u32, bias: u32, max: u32) -> u8 {
    let (sign, magnitude) = (value.to_bits() >> 24 & 0x80, value.to_bits() & 0x7fff_ffff);
    if magnitude > f32::INFINITY.to_bits() {
        return NAN;
    }
    let (exponent, normal) = (magnitude >> 23, 128 - bias);
    let (shift, digits) = if exponent >= normal {
        (23 - mantissa, magnitude - ((normal - 1) << 23))
    } else {
        // Subnormal: the leading bit stands among the digits. From 25 on all of them are less than half of the last place.
        let shift = 23 - mantissa + normal - exponent;
        (
            if shift < 25 { shift } else { 25 },
            magnitude & 0x7f_ffff | 0x80_0000,
        )
    };
    let rounded = (digits + (1 << (shift - 1)) - 1 + (digits >> shift & 1)) >> shift;
    (sign | if rounded < max { rounded } else { max }) as u8
}

macro_rules! float8 {
    ($(#[$doc:meta])* $name:ident, $mantissa:literal, $bias:literal, $max:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// The largest finite number.
            pub const MAX: $name = $name($max);

            /// The NaN that [`from_f32`](Self::from_f32) gives.
            pub const NAN: $name = $name(NAN);

            /// The number with these bits.
            pub const fn from_bits(bits: u8) -> $name {
                $name(bits)
            }

            /// Its bits.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// The nearest number, ties to even. A value beyond [`MAX`](Self::MAX), or an infinity, becomes `MAX` with its sign.
            pub const fn from_f32(value: f32) -> $name {
                $name(narrowed(value, $mantissa, $bias, $max))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{:?} ({:#04x})", self.to_f32(), self.0)
            }
        }
    };
}
float8! {
    /// 4 bits of exponent and 3 of mantissa, finite numbers up to 448 and NaN, but no infinity. ml_dtypes and torch call it `float8_e4m3fn`.
    ///
    /// Equality compares bits.
    ///
    /// ```
    /// # extern crate nvshmemrs_vocabulary as nvshmemrs;
    /// use nvshmemrs::Float8E4m3fn;
    ///
    /// assert_eq!(Float8E4m3fn::from_f32(1.5).to_f32(), 1.5);
    /// assert_eq!(Float8E4m3fn::from_f32(1000.0), Float8E4m3fn::MAX);
    /// ```
    Float8E4m3fn, 3, 7, 0x7e
}
float8! {
    /// 5 bits of exponent and 2 of mantissa, finite numbers up to 57344, infinities and NaN. ml_dtypes and torch call it `float8_e5m2`.
    ///
    /// Equality compares bits.
    ///
    /// ```
    /// # extern crate nvshmemrs_vocabulary as nvshmemrs;
    /// use nvshmemrs::Float8E5m2;
    ///
    /// assert_eq!(Float8E5m2::from_f32(9.0).to_f32(), 8.0);
    /// assert_eq!(Float8E5m2::from_f32(f32::INFINITY), Float8E5m2::MAX);
    /// ```
    Float8E5m2, 2, 15, 0x7b
}

impl Float8E4m3fn {
    /// The same number; every one is exact.
    pub const fn to_f32(self) -> f32 {
        match self.0 & 0x7f {
            0x7f => f32::NAN,
            _ => widened(self.0, 3, 7),
        }
    }
}

impl Float8E5m2 {
    /// Infinity, which a transfer may carry. A reduction gives none.
    pub const INFINITY: Float8E5m2 = Float8E5m2(0x7c);

    /// The same number; every one is exact.
    pub const fn to_f32(self) -> f32 {
        match self.0 {
            0x7c => f32::INFINITY,
            0xfc => f32::NEG_INFINITY,
            _ if self.0 & 0x7f > 0x7c => f32::NAN,
            _ => widened(self.0, 2, 15),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Format = (fn(u8) -> f32, fn(f32) -> u8, i32, i32, u8);

    /// To and from `f32`, bits of mantissa, bias, largest finite number.
    const FORMATS: [Format; 2] = [
        (
            |code| Float8E4m3fn::from_bits(code).to_f32(),
            |value| Float8E4m3fn::from_f32(value).to_bits(),
            3,
            7,
            0x7e,
        ),
        (
            |code| Float8E5m2::from_bits(code).to_f32(),
            |value| Float8E5m2::from_f32(value).to_bits(),
            2,
            15,
            0x7b,
        ),
    ];

    #[test]
    fn every_code_is_the_number_of_the_standard() {
        for (to, from, mantissa, bias, max) in FORMATS {
            for code in 0..=255u8 {
                let (exponent, digits) = (
                    i32::from(code & 0x7f) >> mantissa,
                    i32::from(code) & ((1 << mantissa) - 1),
                );
                let sign = if code > 127 { -1.0 } else { 1.0 };
                let value = to(code);
                if code & 0x7f > max {
                    // e5m2 has infinities, and NaNs above them.
                    if max == 0x7b && digits == 0 {
                        assert_eq!(value, sign as f32 * f32::INFINITY);
                        assert_eq!(from(value), code & 0x80 | max);
                    } else {
                        assert!(value.is_nan(), "{code:#x}");
                        assert_eq!(from(value), 0x7f);
                    }
                    continue;
                }
                let leading = if exponent == 0 { 0 } else { 1 << mantissa };
                let scale = f64::from(exponent.max(1) - bias - mantissa).exp2();
                let expected = sign * f64::from(leading + digits) * scale;
                assert_eq!(f64::from(value), expected, "{code:#x}");
                assert_eq!(value.is_sign_negative(), code > 127, "{code:#x}");
                assert_eq!(from(value), code, "{code:#x}");
            }
        }
        assert_eq!(Float8E4m3fn::MAX.to_f32(), 448.0);
        assert_eq!(Float8E5m2::MAX.to_f32(), 57344.0);
    }

    /// By search among all finite numbers, with exact distances.
    fn nearest(to: fn(u8) -> f32, max: u8, value: f32) -> u8 {
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        let magnitude = f64::from(value.abs());
        let distance = |code: u8| (f64::from(to(code)) - magnitude).abs();
        let better = |best: u8, code: u8| {
            let nearer = distance(code) < distance(best);
            nearer || distance(code) == distance(best) && code.is_multiple_of(2)
        };
        let best = if magnitude >= f64::from(to(max)) {
            max
        } else {
            (0..=max)
                .reduce(|best, code| if better(best, code) { code } else { best })
                .unwrap_or(0)
        };
        sign | best
    }

    #[test]
    fn conversion_gives_the_nearest_number_and_of_two_the_even_one() {
        for (to, from, _, _, max) in FORMATS {
            let mut values: Vec<u32> = (0..=0xffff).map(|upper| upper << 16).collect();
            // Each border between two numbers, and its neighbours.
            for code in 0..max {
                let border = (to(code) + to(code + 1)) / 2.0;
                values.extend([border.to_bits() - 1, border.to_bits(), border.to_bits() + 1]);
            }
            values.extend([1, 0x7f7f_ffff]);
            for bits in values.into_iter().flat_map(|bits| [bits, bits ^ 1 << 31]) {
                let value = f32::from_bits(bits);
                let expected = if value.is_nan() {
                    0x7f
                } else {
                    nearest(to, max, value)
                };
                assert_eq!(from(value), expected, "{value:?} ({bits:#x})");
            }
        }
    }
}
