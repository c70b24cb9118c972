{#
  h = (identity - h) / 2, of p.size rows: what v's columns are corrected by, given h = vᴴ v.

  options:
    threads: number
#}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  if (index >= p.count) { return; }
  let one = of_real(select(0.0, 1.0, index / p.size % p.size == index % p.size));
  store_h(index, (one - load_h(index)) * 0.5);
}
