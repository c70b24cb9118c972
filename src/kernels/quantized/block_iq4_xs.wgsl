fn factors_w(i: u32) -> vec2<f32> {
  let block = i / 256u * 136u;
  let s = i % 256u / 32u;
  // Six bits of each scale: four in a half byte, two in the other half of the first word.
  let low = (bytes4_w(block + 4u) >> (s * 4u)) & 15u;
  let header = bytes4_w(block);
  let high = (header >> (16u + s * 2u)) & 3u;
  return vec2<f32>(unpack2x16float(header).x * (f32_of(low | (high << 4u)) - 32.0), 0.0);
}
fn codes4_w(i: u32) -> vec4<f32> {
  let e = i % 256u;
  return nonlinear4(bytes_of((bytes4_w(i / 256u * 136u + 8u + e / 32u * 16u + e % 16u) >> (e % 32u / 16u * 4u)) & 0x0f0f0f0fu));
}
