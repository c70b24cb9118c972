fn factors_w(i: u32) -> vec2<f32> {
  let block = i / 256u * 210u;
  let scale = signed_bytes_of(byte_w(block + 192u + i % 256u / 16u)).x;
  return vec2<f32>(half_w(block + 208u) * f32(scale), 0.0);
}
fn codes4_w(i: u32) -> vec4<f32> {
  let e = i % 256u;
  let block = i / 256u * 210u;
  let run = e % 128u / 32u;
  let low = (bytes4_w(block + e / 128u * 64u + run % 2u * 32u + e % 32u) >> (run / 2u * 4u)) & 0x0f0f0f0fu;
  let high = (bytes4_w(block + 128u + e / 128u * 32u + e % 32u) >> (run * 2u)) & 0x03030303u;
  return vec4<f32>(bytes_of(low | (high << 4u))) - 32.0;
}
