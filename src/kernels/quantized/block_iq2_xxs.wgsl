// Of 32 elements four entries, in a word; then their signs, and four bits of scale.
fn factors_w(i: u32) -> vec2<f32> {
  let block = i / 256u * 66u;
  let s = byte_w(block + 9u + i % 256u / 32u * 8u) >> 4u;
  return vec2<f32>(half_w(block) * (0.5 + f32_of(s)) * 0.25, 0.0);
}
fn codes4_w(i: u32) -> vec4<f32> {
  let g = i % 32u / 8u;
  let at = i / 256u * 66u + 2u + i % 256u / 32u * 8u;
  let half = i % 8u / 4u;
  let signs = eight_signs((bytes4_w(at + 4u) >> (g * 7u)) & 127u);
  return signed_four(iq2_four(entry_w(byte_w(at + g)), half), signs >> (half * 4u));
}
