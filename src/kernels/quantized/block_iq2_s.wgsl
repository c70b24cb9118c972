fn factors_w(i: u32) -> vec2<f32> {
  let block = i / 256u * 82u;
  let s = i % 256u / 16u;
  let of_run = (byte_w(block + 74u + s / 2u) >> (s % 2u * 4u)) & 15u;
  return vec2<f32>(half_w(block) * (0.5 + f32_of(of_run)) * 0.25, 0.0);
}
fn codes4_w(i: u32) -> vec4<f32> {
  let block = i / 256u * 82u;
  let g = i % 256u / 8u;
  let high = (byte_w(block + 66u + g / 4u) >> (g % 4u * 2u)) & 3u;
  let entry = entry_w(byte_w(block + 2u + g) | (high << 8u));
  let half = i % 8u / 4u;
  return signed_four(iq2_four(entry, half), byte_w(block + 34u + g) >> (half * 4u));
}
