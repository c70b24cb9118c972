fn factors_w(i: u32) -> vec2<f32> {
  let block = i / 256u * 84u;
  let s = byte_w(block + i % 256u / 16u);
  let d = unpack2x16float(bytes4_w(block + 80u));
  return vec2<f32>(d.x * f32(s & 15u), -(d.y * f32(s >> 4u)));
}
fn codes4_w(i: u32) -> vec4<f32> {
  let e = i % 256u;
  let word = bytes4_w(i / 256u * 84u + 16u + e / 128u * 32u + e % 32u);
  return vec4<f32>(bytes_of((word >> (e % 128u / 32u * 2u)) & 0x03030303u));
}
