// The f16 lies in the highest four bits of the scales' four half words.
fn factors_w(i: u32) -> vec2<f32> {
  let at = i / 256u * 56u + 48u;
  let low = bytes4_w(at);
  let high = bytes4_w(at + 4u);
  let d = unpack2x16float(((low >> 12u) & 15u) | ((low >> 24u) & 0xf0u) | ((high >> 4u) & 0xf00u) | ((high >> 16u) & 0xf000u)).x;
  let s = i % 256u / 16u;
  let of_four = select(low, high, s >= 8u) >> (s % 8u / 4u * 16u);
  return vec2<f32>(d * f32_of(((of_four >> (s % 4u * 3u)) & 7u) * 2u + 1u), 0.0);
}
fn codes4_w(i: u32) -> vec4<f32> {
  let block = i / 256u * 56u;
  let g = i % 256u / 8u;
  let of_eight = byte_w(block + 32u + g / 2u) >> (g % 2u * 4u);
  let entry = entry_w(byte_w(block + g) | ((of_eight & 7u) << 8u));
  return iq1_four(entry, i % 8u / 4u, (of_eight & 8u) != 0u);
}
