// nnc kernels for cuda:sm_80
NNC_VECTOR(f32, 4)
NNC_FN f32 bits_f32(u64 b) { return bits_cast<f32>((u32)b); }
NNC_FN idx floordiv_idx(idx a, idx b) { return floordiv_i(a, b); }
NNC_FN idx floormod_idx(idx a, idx b) { return floormod_i(a, b); }
NNC_FN f32x4 fma_f32x4(f32x4 a, f32x4 b, f32x4 c) { return fma_v(a, b, c); }
template <class P, class I> NNC_FN f32x4 load_f32x4(P p, I i) { return nnc_load<f32x4>(p, i); }
NNC_FN f32x4 splat_f32x4(f32 a) { return f32x4{a, a, a, a}; }
template <class P, class I> NNC_FN void store_f32x4(P p, I i, f32x4 v) { nnc_store<f32x4>(p, i, v); }

NNC_KERNEL(128, depthwise)(NNC_READ(f32) in0, NNC_READ(f32) in1, NNC_WRITE(f32) out0, failure_t* failure) {
  (void)failure;
  const idx task0 = NNC_TASK; (void)task0;
  const idx id_0 = ((task0 * idx(128)) + NNC_THREAD);
  const idx i_1 = floormod_idx(id_0, idx(8));
  const idx t_2 = floordiv_idx(id_0, idx(8));
  const idx i_3 = floormod_idx(t_2, idx(16));
  const idx t_4 = floordiv_idx(t_2, idx(16));
  const idx c0_5 = (i_1 * idx(4));
  f32x4 c_6 = splat_f32x4(bits_f32(0x0ull));
  const idx t_7 = (((t_4 * idx(512)) + (i_3 * idx(32))) + c0_5);
  for (idx k_8 = idx(0), k_8_end = idx(3); k_8 < k_8_end; k_8 += 1) {
    const idx p_9 = ((t_4 + k_8) + idx(-1));
    const bool t_10 = ((idx(0) <= p_9) & (p_9 < idx(16)));
    for (idx k_11 = idx(0), k_11_end = idx(3); k_11 < k_11_end; k_11 += 1) {
      const idx p_12 = ((i_3 + k_11) + idx(-1));
      if ((t_10 & ((idx(0) <= p_12) & (p_12 < idx(16))))) {
        const idx t_13 = (k_11 * idx(32));
        const f32x4 v_14 = load_f32x4(in0, (((t_7 + (k_8 * idx(512))) + t_13) + idx(-544)));
        const f32x4 v_15 = load_f32x4(in1, ((c0_5 + (k_8 * idx(96))) + t_13));
        c_6 = fma_f32x4(v_14, v_15, c_6);
      }
    }
  }
  store_f32x4(out0, t_7, c_6);
}
