fn factors_w(i: u32) -> vec2<f32> {
  let block = i / 256u * 98u;
  let s = byte_w(block + 69u + i % 256u / 32u * 4u) >> 4u;
  return vec2<f32>(half_w(block) * (0.5 + f32_of(s)) * 0.5, 0.0);
}
// 4, 12, …, 52, and 62.
fn codes4_w(i: u32) -> vec4<f32> {
  let block = i / 256u * 98u;
  let e = i % 256u;
  let c = fours_of(entry_w(byte_w(block + 2u + e / 4u)));
  let signs = eight_signs((bytes4_w(block + 66u + e / 32u * 4u) >> (e % 32u / 8u * 7u)) & 127u);
  return signed_four(f32s_of(c * 8u + c / 7u * 2u + 4u), signs >> (e % 8u));
}
