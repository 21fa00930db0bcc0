// nnc kernels for cuda:sm_80
NNC_MASK(4)
NNC_VECTOR(f32, 4)
NNC_FN f32 bits_f32(u64 b) { return bits_cast<f32>((u32)b); }
template <class S, class G> NNC_FN void copy_async_16(S s, idx si, G g, idx gi, bool m) { nnc_copy_async<16>(s, si, g, gi, m); }
NNC_FN void copy_commit() { nnc_copy_commit(); }
NNC_FN void copy_wait_0() { nnc_copy_wait<0>(); }
NNC_FN void copy_wait_1() { nnc_copy_wait<1>(); }
NNC_FN f32 extract_f32x4(f32x4 a, int i) { return a[i]; }
NNC_FN idx floordiv_idx(idx a, idx b) { return floordiv_i(a, b); }
NNC_FN idx floormod_idx(idx a, idx b) { return floormod_i(a, b); }
NNC_FN f32x4 fma_f32x4(f32x4 a, f32x4 b, f32x4 c) { return fma_v(a, b, c); }
NNC_FN mx4 le_f32x4(f32x4 a, f32x4 b) { return mx4{a[0] <= b[0], a[1] <= b[1], a[2] <= b[2], a[3] <= b[3]}; }
template <class P, class I> NNC_FN f32x4 load_f32x4(P p, I i) { return nnc_load<f32x4>(p, i); }
NNC_FN f32x4 select_f32x4(mx4 a, f32x4 b, f32x4 c) { return f32x4{a[0] ? b[0] : c[0], a[1] ? b[1] : c[1], a[2] ? b[2] : c[2], a[3] ? b[3] : c[3]}; }
NNC_FN f32x4 splat_f32x4(f32 a) { return f32x4{a, a, a, a}; }
template <class P, class I> NNC_FN void store_f32x4(P p, I i, f32x4 v) { nnc_store<f32x4>(p, i, v); }

NNC_KERNEL(128, contraction_f32)(NNC_READ(f32) in0, NNC_READ(f32) in1, NNC_READ(f32) in2, NNC_WRITE(f32) out0, failure_t* failure) {
  (void)failure;
  const idx grid0 = idx(4), grid1 = idx(2);
  const idx task0 = NNC_TASK % grid0, task1 = NNC_TASK / grid0 % grid1, task2 = NNC_TASK / grid0 / grid1;
  (void)task0; (void)task1; (void)task2;
  const idx m0_0 = (task1 * idx(128));
  const idx n0_1 = (task0 * idx(64));
  NNC_SHARED(f32, tile_4, 8192, 16, 0, 0, 0);
  const idx tx_2 = floormod_idx(NNC_THREAD, idx(8));
  const idx ty_3 = floordiv_idx(NNC_THREAD, idx(8));
  f32x4 c_4 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_5 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_6 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_7 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_8 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_9 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_10 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_11 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_12 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_13 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_14 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_15 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_16 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_17 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_18 = splat_f32x4(bits_f32(0x0ull));
  f32x4 c_19 = splat_f32x4(bits_f32(0x0ull));
  const idx bx_20 = (tx_2 * idx(4));
  NNC_UNROLL
  for (idx c_21 = idx(0), c_21_end = idx(4); c_21 < c_21_end; c_21 += 1) {
    const idx id_22 = (NNC_THREAD + (c_21 * idx(128)));
    const idx f_23 = floormod_idx(id_22, idx(4));
    const idx s_24 = floordiv_idx(id_22, idx(4));
    const idx p_25 = (f_23 * idx(4));
    const idx m_26 = (m0_0 + s_24);
    copy_async_16(tile_4, ((s_24 * idx(20)) + p_25), in0, (p_25 + (m_26 * idx(128))), true);
  }
  NNC_UNROLL
  for (idx c_27 = idx(0), c_27_end = idx(2); c_27 < c_27_end; c_27 += 1) {
    const idx id_28 = (NNC_THREAD + (c_27 * idx(128)));
    const idx f_29 = floormod_idx(id_28, idx(16));
    const idx s_30 = floordiv_idx(id_28, idx(16));
    const idx t_31 = (f_29 * idx(4));
    const idx n_32 = (n0_1 + t_31);
    copy_async_16(tile_4, (((s_30 * idx(64)) + t_31) + idx(5120)), in1, (n_32 + (s_30 * idx(256))), true);
  }
  copy_commit();
  const idx t_33 = (ty_3 * idx(20));
  for (idx t_34 = idx(0), t_34_end = idx(8); t_34 < t_34_end; t_34 += 1) {
    const idx next_35 = (t_34 + idx(1));
    const idx odd_36 = floormod_idx(next_35, idx(2));
    if ((next_35 < idx(8))) {
      const idx at_37 = (odd_36 * idx(2560));
      const idx t_38 = (next_35 * idx(16));
      NNC_UNROLL
      for (idx c_39 = idx(0), c_39_end = idx(4); c_39 < c_39_end; c_39 += 1) {
        const idx id_40 = (NNC_THREAD + (c_39 * idx(128)));
        const idx f_41 = floormod_idx(id_40, idx(4));
        const idx s_42 = floordiv_idx(id_40, idx(4));
        const idx t_43 = (f_41 * idx(4));
        const idx p_44 = (t_38 + t_43);
        const idx m_45 = (m0_0 + s_42);
        copy_async_16(tile_4, ((at_37 + (s_42 * idx(20))) + t_43), in0, (p_44 + (m_45 * idx(128))), true);
      }
      const idx at_46 = ((odd_36 * idx(1024)) + idx(5120));
      NNC_UNROLL
      for (idx c_47 = idx(0), c_47_end = idx(2); c_47 < c_47_end; c_47 += 1) {
        const idx id_48 = (NNC_THREAD + (c_47 * idx(128)));
        const idx f_49 = floormod_idx(id_48, idx(16));
        const idx s_50 = floordiv_idx(id_48, idx(16));
        const idx p_51 = (t_38 + s_50);
        const idx t_52 = (f_49 * idx(4));
        const idx n_53 = (n0_1 + t_52);
        copy_async_16(tile_4, ((at_46 + (s_50 * idx(64))) + t_52), in1, (n_53 + (p_51 * idx(256))), true);
      }
      copy_commit();
    } else {
      copy_commit();
    }
    copy_wait_1();
    NNC_BARRIER();
    const idx stage_54 = (idx(1) - odd_36);
    const idx la_55 = (t_33 + (stage_54 * idx(2560)));
    const idx lb_56 = ((bx_20 + (stage_54 * idx(1024))) + idx(5120));
    NNC_UNROLL
    for (idx p_57 = idx(0), p_57_end = idx(16); p_57 < p_57_end; p_57 += 4) {
      const idx t_58 = (la_55 + p_57);
      const f32x4 a_59 = load_f32x4(tile_4, t_58);
      const f32x4 a_60 = load_f32x4(tile_4, (t_58 + idx(320)));
      const f32x4 a_61 = load_f32x4(tile_4, (t_58 + idx(640)));
      const f32x4 a_62 = load_f32x4(tile_4, (t_58 + idx(960)));
      const f32x4 a_63 = load_f32x4(tile_4, (t_58 + idx(1280)));
      const f32x4 a_64 = load_f32x4(tile_4, (t_58 + idx(1600)));
      const f32x4 a_65 = load_f32x4(tile_4, (t_58 + idx(1920)));
      const f32x4 a_66 = load_f32x4(tile_4, (t_58 + idx(2240)));
      const idx t_67 = (lb_56 + (p_57 * idx(64)));
      const f32x4 b_68 = load_f32x4(tile_4, t_67);
      const f32x4 b_69 = load_f32x4(tile_4, (t_67 + idx(32)));
      const f32x4 t_70 = splat_f32x4(extract_f32x4(a_59, 0));
      c_4 = fma_f32x4(t_70, b_68, c_4);
      c_5 = fma_f32x4(t_70, b_69, c_5);
      const f32x4 t_71 = splat_f32x4(extract_f32x4(a_60, 0));
      c_6 = fma_f32x4(t_71, b_68, c_6);
      c_7 = fma_f32x4(t_71, b_69, c_7);
      const f32x4 t_72 = splat_f32x4(extract_f32x4(a_61, 0));
      c_8 = fma_f32x4(t_72, b_68, c_8);
      c_9 = fma_f32x4(t_72, b_69, c_9);
      const f32x4 t_73 = splat_f32x4(extract_f32x4(a_62, 0));
      c_10 = fma_f32x4(t_73, b_68, c_10);
      c_11 = fma_f32x4(t_73, b_69, c_11);
      const f32x4 t_74 = splat_f32x4(extract_f32x4(a_63, 0));
      c_12 = fma_f32x4(t_74, b_68, c_12);
      c_13 = fma_f32x4(t_74, b_69, c_13);
      const f32x4 t_75 = splat_f32x4(extract_f32x4(a_64, 0));
      c_14 = fma_f32x4(t_75, b_68, c_14);
      c_15 = fma_f32x4(t_75, b_69, c_15);
      const f32x4 t_76 = splat_f32x4(extract_f32x4(a_65, 0));
      c_16 = fma_f32x4(t_76, b_68, c_16);
      c_17 = fma_f32x4(t_76, b_69, c_17);
      const f32x4 t_77 = splat_f32x4(extract_f32x4(a_66, 0));
      c_18 = fma_f32x4(t_77, b_68, c_18);
      c_19 = fma_f32x4(t_77, b_69, c_19);
      const f32x4 b_78 = load_f32x4(tile_4, (t_67 + idx(64)));
      const f32x4 b_79 = load_f32x4(tile_4, (t_67 + idx(96)));
      const f32x4 t_80 = splat_f32x4(extract_f32x4(a_59, 1));
      c_4 = fma_f32x4(t_80, b_78, c_4);
      c_5 = fma_f32x4(t_80, b_79, c_5);
      const f32x4 t_81 = splat_f32x4(extract_f32x4(a_60, 1));
      c_6 = fma_f32x4(t_81, b_78, c_6);
      c_7 = fma_f32x4(t_81, b_79, c_7);
      const f32x4 t_82 = splat_f32x4(extract_f32x4(a_61, 1));
      c_8 = fma_f32x4(t_82, b_78, c_8);
      c_9 = fma_f32x4(t_82, b_79, c_9);
      const f32x4 t_83 = splat_f32x4(extract_f32x4(a_62, 1));
      c_10 = fma_f32x4(t_83, b_78, c_10);
      c_11 = fma_f32x4(t_83, b_79, c_11);
      const f32x4 t_84 = splat_f32x4(extract_f32x4(a_63, 1));
      c_12 = fma_f32x4(t_84, b_78, c_12);
      c_13 = fma_f32x4(t_84, b_79, c_13);
      const f32x4 t_85 = splat_f32x4(extract_f32x4(a_64, 1));
      c_14 = fma_f32x4(t_85, b_78, c_14);
      c_15 = fma_f32x4(t_85, b_79, c_15);
      const f32x4 t_86 = splat_f32x4(extract_f32x4(a_65, 1));
      c_16 = fma_f32x4(t_86, b_78, c_16);
      c_17 = fma_f32x4(t_86, b_79, c_17);
      const f32x4 t_87 = splat_f32x4(extract_f32x4(a_66, 1));
      c_18 = fma_f32x4(t_87, b_78, c_18);
      c_19 = fma_f32x4(t_87, b_79, c_19);
      const f32x4 b_88 = load_f32x4(tile_4, (t_67 + idx(128)));
      const f32x4 b_89 = load_f32x4(tile_4, (t_67 + idx(160)));
      const f32x4 t_90 = splat_f32x4(extract_f32x4(a_59, 2));
      c_4 = fma_f32x4(t_90, b_88, c_4);
      c_5 = fma_f32x4(t_90, b_89, c_5);
      const f32x4 t_91 = splat_f32x4(extract_f32x4(a_60, 2));
      c_6 = fma_f32x4(t_91, b_88, c_6);
      c_7 = fma_f32x4(t_91, b_89, c_7);
      const f32x4 t_92 = splat_f32x4(extract_f32x4(a_61, 2));
      c_8 = fma_f32x4(t_92, b_88, c_8);
      c_9 = fma_f32x4(t_92, b_89, c_9);
      const f32x4 t_93 = splat_f32x4(extract_f32x4(a_62, 2));
      c_10 = fma_f32x4(t_93, b_88, c_10);
      c_11 = fma_f32x4(t_93, b_89, c_11);
      const f32x4 t_94 = splat_f32x4(extract_f32x4(a_63, 2));
      c_12 = fma_f32x4(t_94, b_88, c_12);
      c_13 = fma_f32x4(t_94, b_89, c_13);
      const f32x4 t_95 = splat_f32x4(extract_f32x4(a_64, 2));
      c_14 = fma_f32x4(t_95, b_88, c_14);
      c_15 = fma_f32x4(t_95, b_89, c_15);
      const f32x4 t_96 = splat_f32x4(extract_f32x4(a_65, 2));
      c_16 = fma_f32x4(t_96, b_88, c_16);
      c_17 = fma_f32x4(t_96, b_89, c_17);
      const f32x4 t_97 = splat_f32x4(extract_f32x4(a_66, 2));
      c_18 = fma_f32x4(t_97, b_88, c_18);
      c_19 = fma_f32x4(t_97, b_89, c_19);
      const f32x4 b_98 = load_f32x4(tile_4, (t_67 + idx(192)));
      const f32x4 b_99 = load_f32x4(tile_4, (t_67 + idx(224)));
      const f32x4 t_100 = splat_f32x4(extract_f32x4(a_59, 3));
      c_4 = fma_f32x4(t_100, b_98, c_4);
      c_5 = fma_f32x4(t_100, b_99, c_5);
      const f32x4 t_101 = splat_f32x4(extract_f32x4(a_60, 3));
      c_6 = fma_f32x4(t_101, b_98, c_6);
      c_7 = fma_f32x4(t_101, b_99, c_7);
      const f32x4 t_102 = splat_f32x4(extract_f32x4(a_61, 3));
      c_8 = fma_f32x4(t_102, b_98, c_8);
      c_9 = fma_f32x4(t_102, b_99, c_9);
      const f32x4 t_103 = splat_f32x4(extract_f32x4(a_62, 3));
      c_10 = fma_f32x4(t_103, b_98, c_10);
      c_11 = fma_f32x4(t_103, b_99, c_11);
      const f32x4 t_104 = splat_f32x4(extract_f32x4(a_63, 3));
      c_12 = fma_f32x4(t_104, b_98, c_12);
      c_13 = fma_f32x4(t_104, b_99, c_13);
      const f32x4 t_105 = splat_f32x4(extract_f32x4(a_64, 3));
      c_14 = fma_f32x4(t_105, b_98, c_14);
      c_15 = fma_f32x4(t_105, b_99, c_15);
      const f32x4 t_106 = splat_f32x4(extract_f32x4(a_65, 3));
      c_16 = fma_f32x4(t_106, b_98, c_16);
      c_17 = fma_f32x4(t_106, b_99, c_17);
      const f32x4 t_107 = splat_f32x4(extract_f32x4(a_66, 3));
      c_18 = fma_f32x4(t_107, b_98, c_18);
      c_19 = fma_f32x4(t_107, b_99, c_19);
    }
    NNC_BARRIER();
  }
  copy_wait_0();
  const idx t_108 = ((ty_3 * idx(64)) + bx_20);
  store_f32x4(tile_4, t_108, c_4);
  store_f32x4(tile_4, (t_108 + idx(32)), c_5);
  store_f32x4(tile_4, (t_108 + idx(1024)), c_6);
  store_f32x4(tile_4, (t_108 + idx(1056)), c_7);
  store_f32x4(tile_4, (t_108 + idx(2048)), c_8);
  store_f32x4(tile_4, (t_108 + idx(2080)), c_9);
  store_f32x4(tile_4, (t_108 + idx(3072)), c_10);
  store_f32x4(tile_4, (t_108 + idx(3104)), c_11);
  store_f32x4(tile_4, (t_108 + idx(4096)), c_12);
  store_f32x4(tile_4, (t_108 + idx(4128)), c_13);
  store_f32x4(tile_4, (t_108 + idx(5120)), c_14);
  store_f32x4(tile_4, (t_108 + idx(5152)), c_15);
  store_f32x4(tile_4, (t_108 + idx(6144)), c_16);
  store_f32x4(tile_4, (t_108 + idx(6176)), c_17);
  store_f32x4(tile_4, (t_108 + idx(7168)), c_18);
  store_f32x4(tile_4, (t_108 + idx(7200)), c_19);
  NNC_BARRIER();
  for (idx e_109 = idx(0), e_109_end = idx(16); e_109 < e_109_end; e_109 += 1) {
    const idx id_110 = (NNC_THREAD + (e_109 * idx(128)));
    const idx row_111 = floordiv_idx(id_110, idx(16));
    const idx col_112 = (floormod_idx(id_110, idx(16)) * idx(4));
    const idx m_113 = (m0_0 + row_111);
    const idx n_114 = (n0_1 + col_112);
    const idx at_115 = ((row_111 * idx(64)) + col_112);
    const f32x4 c_116 = load_f32x4(tile_4, at_115);
    const f32x4 v_117 = load_f32x4(in2, n_114);
    // add
    const f32x4 add_118 = (c_116 + v_117);
    // relu
    const f32x4 relu_119 = select_f32x4(le_f32x4(add_118, splat_f32x4(bits_f32(0x0ull))), splat_f32x4(bits_f32(0x0ull)), add_118);
    store_f32x4(out0, ((m_113 * idx(256)) + n_114), relu_119);
  }
}
