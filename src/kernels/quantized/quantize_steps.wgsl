// No compiler can take it for a real number, or fuse it with a sum. Divisors that are constants go through it, too:
// NVIDIA's compiler (580) combines them with the factors of div_rn_f32's corrections, which then correct nothing.
fn rounded(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ p.opaque_zero); }
fn magnitude_bits(x: f32) -> u32 { return bitcast<u32>(x) & 0x7fffffffu; }
