// Entries of the codebook are half words; fields of them, from the lowest bits on, are an element each.
fn entry_w(e: u32) -> u32 { return w_grid_buf[p.w_grid_o + e / 2u] >> (e % 2u * 16u); }
// Four fields of two bits, and of four.
fn twos_of(word: u32) -> vec4<u32> { return (vec4<u32>(word) >> vec4<u32>(0u, 2u, 4u, 6u)) & vec4<u32>(3u); }
fn fours_of(word: u32) -> vec4<u32> { return (vec4<u32>(word) >> vec4<u32>(0u, 4u, 8u, 12u)) & vec4<u32>(7u); }
// The elements of iq2 that begin with the first or (half 1) fifth of eight.
fn iq2_four(entry: u32, half: u32) -> vec4<f32> {
  return f32s_of((vec4<u32>(0x2b1908u) >> (twos_of(entry >> (half * 8u)) * 8u)) & vec4<u32>(255u));
}
fn iq1_four(entry: u32, half: u32, less: bool) -> vec4<f32> {
  return f32s_of(twos_of(entry >> (half * 8u))) - select(0.875, 1.125, less);
}
fn signed_four(v: vec4<f32>, signs: u32) -> vec4<f32> {
  return bitcast<vec4<f32>>(bitcast<vec4<u32>>(v) ^ ((vec4<u32>(signs) << vec4<u32>(31u, 30u, 29u, 28u)) & vec4<u32>(0x80000000u)));
}
// Seven signs are stored of eight: the last is that which makes the number of minuses even.
fn eight_signs(seven: u32) -> u32 { return seven | ((countOneBits(seven) & 1u) << 7u); }
