fn factors_w(i: u32) -> vec2<f32> {
  let block = i / 256u * 110u;
  let s = i % 256u / 16u;
  // Six bits of each scale: four in a half byte, two in another.
  let low = (byte_w(block + 96u + s % 8u) >> (s / 8u * 4u)) & 15u;
  let high = (byte_w(block + 104u + s % 4u) >> (s / 4u * 2u)) & 3u;
  return vec2<f32>(half_w(block + 108u) * (f32(low | (high << 4u)) - 32.0), 0.0);
}
fn codes4_w(i: u32) -> vec4<f32> {
  let e = i % 256u;
  let block = i / 256u * 110u;
  let low = (bytes4_w(block + 32u + e / 128u * 32u + e % 32u) >> (e % 128u / 32u * 2u)) & 0x03030303u;
  let high = (bytes4_w(block + e % 32u) >> (e / 32u)) & 0x01010101u;
  return vec4<f32>(bytes_of(low | (high << 2u))) - 4.0;
}
