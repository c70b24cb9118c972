// The scale of run s of q4_k and q5_k, and what is added: six bits of each, the last four runs' split over two bytes.
fn k_factors(block: u32, s: u32) -> vec2<f32> {
  let d = unpack2x16float(bytes4_w(block));
  let first = byte_w(block + 4u + s % 4u);
  let second = byte_w(block + 8u + s % 4u);
  let third = byte_w(block + 12u + s % 4u);
  let late = s >= 4u;
  let scale = select(first & 63u, (third & 15u) | ((first >> 6u) << 4u), late);
  let least = select(second & 63u, (third >> 4u) | ((second >> 6u) << 4u), late);
  return vec2<f32>(d.x * f32(scale), -(d.y * f32(least)));
}
