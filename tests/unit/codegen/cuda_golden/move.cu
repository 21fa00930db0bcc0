// nnc kernels for cuda:sm_80
NNC_FN idx floordiv_idx(idx a, idx b) { return floordiv_i(a, b); }
NNC_FN idx floormod_idx(idx a, idx b) { return floormod_i(a, b); }
template <class P, class I> NNC_FN f32 load_f32(P p, I i) { return nnc_load<f32>(p, i); }
template <class P, class I> NNC_FN void store_f32(P p, I i, f32 v) { nnc_store<f32>(p, i, v); }

NNC_KERNEL(256, move)(NNC_READ(f32) in0, NNC_WRITE(f32) out0, failure_t* failure) {
  (void)failure;
  const idx task0 = NNC_TASK; (void)task0;
  const idx a0_0 = (floordiv_idx(task0, idx(8)) * idx(32));
  const idx b0_1 = (floormod_idx(task0, idx(8)) * idx(32));
  const idx tx_2 = floormod_idx(NNC_THREAD, idx(32));
  const idx ty_3 = floordiv_idx(NNC_THREAD, idx(32));
  NNC_SHARED(f32, tile_2, 1056, 16, 0, 0, 0);
  const idx a_4 = (a0_0 + tx_2);
  const idx b_5 = (b0_1 + ty_3);
  const f32 v_6 = load_f32(in0, (a_4 + (b_5 * idx(256))));
  store_f32(tile_2, ((ty_3 * idx(33)) + tx_2), v_6);
  const idx r_7 = (ty_3 + idx(8));
  const idx b_8 = (b0_1 + r_7);
  const f32 v_9 = load_f32(in0, (a_4 + (b_8 * idx(256))));
  store_f32(tile_2, ((r_7 * idx(33)) + tx_2), v_9);
  const idx r_10 = (ty_3 + idx(16));
  const idx b_11 = (b0_1 + r_10);
  const f32 v_12 = load_f32(in0, (a_4 + (b_11 * idx(256))));
  store_f32(tile_2, ((r_10 * idx(33)) + tx_2), v_12);
  const idx r_13 = (ty_3 + idx(24));
  const idx b_14 = (b0_1 + r_13);
  const f32 v_15 = load_f32(in0, (a_4 + (b_14 * idx(256))));
  store_f32(tile_2, ((r_13 * idx(33)) + tx_2), v_15);
  NNC_BARRIER();
  const idx a_16 = (a0_0 + ty_3);
  const idx b_17 = (b0_1 + tx_2);
  const idx t_18 = (tx_2 * idx(33));
  const f32 v_19 = load_f32(tile_2, (t_18 + ty_3));
  store_f32(out0, ((a_16 * idx(256)) + b_17), v_19);
  const idx a_20 = (a0_0 + r_7);
  const f32 v_21 = load_f32(tile_2, (t_18 + r_7));
  store_f32(out0, ((a_20 * idx(256)) + b_17), v_21);
  const idx a_22 = (a0_0 + r_10);
  const f32 v_23 = load_f32(tile_2, (t_18 + r_10));
  store_f32(out0, ((a_22 * idx(256)) + b_17), v_23);
  const idx a_24 = (a0_0 + r_13);
  const f32 v_25 = load_f32(tile_2, (t_18 + r_13));
  store_f32(out0, ((a_24 * idx(256)) + b_17), v_25);
}
