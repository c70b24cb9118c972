// What the passes of attention's gradient need of each row, as bits: the logarithm of its sum of weights (infinity if it
// sees no key, so that every weight is 0), delta, and the first and the end of the keys that it sees.

const threads = {{ threads }}u;

@compute @workgroup_size(threads)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let i = group_index(wg, groups) * threads + t;
  if (i >= p.all_rows) { return; }
  let head = i / p.rows;    // of keys, counted through the batch
  let row = i % p.rows;
  let batch = head / p.kv_heads;
  let kv_head = head % p.kv_heads;
  let lengths = lengths_at(batch);
  let seen = seen_by_row(row, lengths);
  let log_sum = load_log_sums(row_start(batch, kv_head, row, p.log_sums_b, p.log_sums_h, p.log_sums_i));
  let delta = load_delta(row_start(batch, kv_head, row, p.delta_b, p.delta_h, p.delta_i));
  stats_buf[p.stats_o + i] =
      select(vec4<u32>(bitcast<u32>(log_sum), bitcast<u32>(delta), seen), vec4<u32>(bitcast<u32>(-p.hidden), 0u, 0u, 0u),
             log_sum == p.hidden || seen.y <= seen.x);
}
