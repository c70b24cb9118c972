// The scale of run s of q4_k and q5_k, and what is added: six bits of each, the last four runs' split over two bytes.
fn k_factors(block: u32, s: u32) -> vec2<f32> {
{% if wide %}
  let header = w_buf[p.w_o + block / 16u];
{% else %}
  let header = vec4<u32>(bytes4_w(block), bytes4_w(block + 4u), bytes4_w(block + 8u), bytes4_w(block + 12u));
{% endif %}
  let d = unpack2x16float(header.x);
  let of_run = header.yzw >> vec3<u32>(s % 4u * 8u);
  let late = s >= 4u;
  let scale = select(of_run.x & 63u, (of_run.z & 15u) | ((of_run.x >> 2u) & 48u), late);
  let least = select(of_run.y & 63u, ((of_run.z >> 4u) & 15u) | ((of_run.y >> 2u) & 48u), late);
  return vec2<f32>(d.x * f32_of(scale), -(d.y * f32_of(least)));
}
