fn factors_w(i: u32) -> vec2<f32> {
  let block = i / 256u * 110u;
  let s = i % 256u / 32u;
  let of_run = (byte_w(block + 106u + s / 2u) >> (s % 2u * 4u)) & 15u;
  return vec2<f32>(half_w(block) * f32_of(of_run * 2u + 1u), 0.0);
}
fn codes4_w(i: u32) -> vec4<f32> {
  let block = i / 256u * 110u;
  let e = i % 256u;
  let high = (byte_w(block + 66u + e / 32u) >> (e % 32u / 4u)) & 1u;
  let c = fours_of(entry_w(byte_w(block + 2u + e / 4u) | (high << 8u)));
  return signed_four(f32s_of(c * 2u + 1u), byte_w(block + 74u + e / 8u) >> (e % 8u));
}
