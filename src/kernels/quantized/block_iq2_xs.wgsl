// Of eight elements nine bits of entry and seven of signs.
fn factors_w(i: u32) -> vec2<f32> {
  let block = i / 256u * 74u;
  let s = i % 256u / 16u;
  let of_run = (byte_w(block + 66u + s / 2u) >> (s % 2u * 4u)) & 15u;
  return vec2<f32>(half_w(block) * (0.5 + f32_of(of_run)) * 0.25, 0.0);
}
fn codes4_w(i: u32) -> vec4<f32> {
  let word = bytes4_w(i / 256u * 74u + 2u + i % 256u / 8u * 2u);
  let half = i % 8u / 4u;
  let signs = eight_signs((word >> 9u) & 127u);
  return signed_four(iq2_four(entry_w(word & 511u), half), signs >> (half * 4u));
}
