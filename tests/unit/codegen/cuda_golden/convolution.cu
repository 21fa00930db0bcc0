// nnc kernels for cuda:sm_80
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
template <class P, class I> NNC_FN f32x4 load_f32x4(P p, I i) { return nnc_load<f32x4>(p, i); }
NNC_FN f32x4 splat_f32x4(f32 a) { return f32x4{a, a, a, a}; }
template <class P, class I> NNC_FN void store_f32x4(P p, I i, f32x4 v) { nnc_store<f32x4>(p, i, v); }

NNC_KERNEL(128, convolution)(NNC_READ(f32) in0, NNC_READ(f32) in1, NNC_WRITE(f32) out0, failure_t* failure) {
  (void)failure;
  const idx grid0 = idx(1), grid1 = idx(2);
  const idx task0 = NNC_TASK % grid0, task1 = NNC_TASK / grid0 % grid1, task2 = NNC_TASK / grid0 / grid1;
  (void)task0; (void)task1; (void)task2;
  const idx m0_0 = (task1 * idx(128));
  NNC_SHARED(f32, tile_3, 8192, 16, 0, 0, 0);
  const idx tx_1 = floormod_idx(NNC_THREAD, idx(8));
  const idx ty_2 = floordiv_idx(NNC_THREAD, idx(8));
  f32x4 c_3 = splat_f32x4(bits_f32(0x0ull));
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
  const idx bx_19 = (tx_1 * idx(4));
  NNC_UNROLL
  for (idx c_20 = idx(0), c_20_end = idx(4); c_20 < c_20_end; c_20 += 1) {
    const idx id_21 = (NNC_THREAD + (c_20 * idx(128)));
    const idx f_22 = floormod_idx(id_21, idx(4));
    const idx s_23 = floordiv_idx(id_21, idx(4));
    const idx p_24 = (f_22 * idx(4));
    const idx m_25 = (m0_0 + s_23);
    const idx i_26 = floormod_idx(m_25, idx(16));
    const idx t_27 = floordiv_idx(m_25, idx(16));
    const idx i_28 = floormod_idx(p_24, idx(32));
    const idx t_29 = floordiv_idx(p_24, idx(32));
    const idx i_30 = floormod_idx(t_29, idx(3));
    const idx t_31 = floordiv_idx(t_29, idx(3));
    const idx p_32 = ((t_27 + t_31) + idx(-1));
    const idx p_33 = ((i_26 + i_30) + idx(-1));
    const bool in_34 = (((idx(0) <= p_32) & (p_32 < idx(16))) & ((idx(0) <= p_33) & (p_33 < idx(16))));
    copy_async_16(tile_3, ((s_23 * idx(20)) + p_24), in0, (((((i_28 + (i_26 * idx(32))) + (i_30 * idx(32))) + (t_27 * idx(512))) + (t_31 * idx(512))) + idx(-544)), in_34);
  }
  NNC_UNROLL
  for (idx c_35 = idx(0), c_35_end = idx(2); c_35 < c_35_end; c_35 += 1) {
    const idx id_36 = (NNC_THREAD + (c_35 * idx(128)));
    const idx f_37 = floormod_idx(id_36, idx(16));
    const idx s_38 = floordiv_idx(id_36, idx(16));
    const idx n_39 = (f_37 * idx(4));
    const idx t_40 = (s_38 * idx(64));
    const idx t_41 = (t_40 + n_39);
    copy_async_16(tile_3, (t_41 + idx(5120)), in1, t_41, true);
  }
  copy_commit();
  const idx t_42 = (ty_2 * idx(20));
  for (idx t_43 = idx(0), t_43_end = idx(18); t_43 < t_43_end; t_43 += 1) {
    const idx next_44 = (t_43 + idx(1));
    const idx odd_45 = floormod_idx(next_44, idx(2));
    if ((next_44 < idx(18))) {
      const idx at_46 = (odd_45 * idx(2560));
      const idx t_47 = (next_44 * idx(16));
      NNC_UNROLL
      for (idx c_48 = idx(0), c_48_end = idx(4); c_48 < c_48_end; c_48 += 1) {
        const idx id_49 = (NNC_THREAD + (c_48 * idx(128)));
        const idx f_50 = floormod_idx(id_49, idx(4));
        const idx s_51 = floordiv_idx(id_49, idx(4));
        const idx t_52 = (f_50 * idx(4));
        const idx p_53 = (t_47 + t_52);
        const idx m_54 = (m0_0 + s_51);
        const idx i_55 = floormod_idx(m_54, idx(16));
        const idx t_56 = floordiv_idx(m_54, idx(16));
        const idx i_57 = floormod_idx(p_53, idx(32));
        const idx t_58 = floordiv_idx(p_53, idx(32));
        const idx i_59 = floormod_idx(t_58, idx(3));
        const idx t_60 = floordiv_idx(t_58, idx(3));
        const idx p_61 = ((t_56 + t_60) + idx(-1));
        const idx p_62 = ((i_55 + i_59) + idx(-1));
        const bool in_63 = (((idx(0) <= p_61) & (p_61 < idx(16))) & ((idx(0) <= p_62) & (p_62 < idx(16))));
        copy_async_16(tile_3, ((at_46 + (s_51 * idx(20))) + t_52), in0, (((((i_57 + (i_55 * idx(32))) + (i_59 * idx(32))) + (t_56 * idx(512))) + (t_60 * idx(512))) + idx(-544)), in_63);
      }
      const idx at_64 = ((odd_45 * idx(1024)) + idx(5120));
      NNC_UNROLL
      for (idx c_65 = idx(0), c_65_end = idx(2); c_65 < c_65_end; c_65 += 1) {
        const idx id_66 = (NNC_THREAD + (c_65 * idx(128)));
        const idx f_67 = floormod_idx(id_66, idx(16));
        const idx s_68 = floordiv_idx(id_66, idx(16));
        const idx p_69 = (t_47 + s_68);
        const idx n_70 = (f_67 * idx(4));
        copy_async_16(tile_3, ((at_64 + (s_68 * idx(64))) + n_70), in1, ((p_69 * idx(64)) + n_70), true);
      }
      copy_commit();
    } else {
      copy_commit();
    }
    copy_wait_1();
    NNC_BARRIER();
    const idx stage_71 = (idx(1) - odd_45);
    const idx la_72 = (t_42 + (stage_71 * idx(2560)));
    const idx lb_73 = ((bx_19 + (stage_71 * idx(1024))) + idx(5120));
    NNC_UNROLL
    for (idx p_74 = idx(0), p_74_end = idx(16); p_74 < p_74_end; p_74 += 4) {
      const idx t_75 = (la_72 + p_74);
      const f32x4 a_76 = load_f32x4(tile_3, t_75);
      const f32x4 a_77 = load_f32x4(tile_3, (t_75 + idx(320)));
      const f32x4 a_78 = load_f32x4(tile_3, (t_75 + idx(640)));
      const f32x4 a_79 = load_f32x4(tile_3, (t_75 + idx(960)));
      const f32x4 a_80 = load_f32x4(tile_3, (t_75 + idx(1280)));
      const f32x4 a_81 = load_f32x4(tile_3, (t_75 + idx(1600)));
      const f32x4 a_82 = load_f32x4(tile_3, (t_75 + idx(1920)));
      const f32x4 a_83 = load_f32x4(tile_3, (t_75 + idx(2240)));
      const idx t_84 = (lb_73 + (p_74 * idx(64)));
      const f32x4 b_85 = load_f32x4(tile_3, t_84);
      const f32x4 b_86 = load_f32x4(tile_3, (t_84 + idx(32)));
      const f32x4 t_87 = splat_f32x4(extract_f32x4(a_76, 0));
      c_3 = fma_f32x4(t_87, b_85, c_3);
      c_4 = fma_f32x4(t_87, b_86, c_4);
      const f32x4 t_88 = splat_f32x4(extract_f32x4(a_77, 0));
      c_5 = fma_f32x4(t_88, b_85, c_5);
      c_6 = fma_f32x4(t_88, b_86, c_6);
      const f32x4 t_89 = splat_f32x4(extract_f32x4(a_78, 0));
      c_7 = fma_f32x4(t_89, b_85, c_7);
      c_8 = fma_f32x4(t_89, b_86, c_8);
      const f32x4 t_90 = splat_f32x4(extract_f32x4(a_79, 0));
      c_9 = fma_f32x4(t_90, b_85, c_9);
      c_10 = fma_f32x4(t_90, b_86, c_10);
      const f32x4 t_91 = splat_f32x4(extract_f32x4(a_80, 0));
      c_11 = fma_f32x4(t_91, b_85, c_11);
      c_12 = fma_f32x4(t_91, b_86, c_12);
      const f32x4 t_92 = splat_f32x4(extract_f32x4(a_81, 0));
      c_13 = fma_f32x4(t_92, b_85, c_13);
      c_14 = fma_f32x4(t_92, b_86, c_14);
      const f32x4 t_93 = splat_f32x4(extract_f32x4(a_82, 0));
      c_15 = fma_f32x4(t_93, b_85, c_15);
      c_16 = fma_f32x4(t_93, b_86, c_16);
      const f32x4 t_94 = splat_f32x4(extract_f32x4(a_83, 0));
      c_17 = fma_f32x4(t_94, b_85, c_17);
      c_18 = fma_f32x4(t_94, b_86, c_18);
      const f32x4 b_95 = load_f32x4(tile_3, (t_84 + idx(64)));
      const f32x4 b_96 = load_f32x4(tile_3, (t_84 + idx(96)));
      const f32x4 t_97 = splat_f32x4(extract_f32x4(a_76, 1));
      c_3 = fma_f32x4(t_97, b_95, c_3);
      c_4 = fma_f32x4(t_97, b_96, c_4);
      const f32x4 t_98 = splat_f32x4(extract_f32x4(a_77, 1));
      c_5 = fma_f32x4(t_98, b_95, c_5);
      c_6 = fma_f32x4(t_98, b_96, c_6);
      const f32x4 t_99 = splat_f32x4(extract_f32x4(a_78, 1));
      c_7 = fma_f32x4(t_99, b_95, c_7);
      c_8 = fma_f32x4(t_99, b_96, c_8);
      const f32x4 t_100 = splat_f32x4(extract_f32x4(a_79, 1));
      c_9 = fma_f32x4(t_100, b_95, c_9);
      c_10 = fma_f32x4(t_100, b_96, c_10);
      const f32x4 t_101 = splat_f32x4(extract_f32x4(a_80, 1));
      c_11 = fma_f32x4(t_101, b_95, c_11);
      c_12 = fma_f32x4(t_101, b_96, c_12);
      const f32x4 t_102 = splat_f32x4(extract_f32x4(a_81, 1));
      c_13 = fma_f32x4(t_102, b_95, c_13);
      c_14 = fma_f32x4(t_102, b_96, c_14);
      const f32x4 t_103 = splat_f32x4(extract_f32x4(a_82, 1));
      c_15 = fma_f32x4(t_103, b_95, c_15);
      c_16 = fma_f32x4(t_103, b_96, c_16);
      const f32x4 t_104 = splat_f32x4(extract_f32x4(a_83, 1));
      c_17 = fma_f32x4(t_104, b_95, c_17);
      c_18 = fma_f32x4(t_104, b_96, c_18);
      const f32x4 b_105 = load_f32x4(tile_3, (t_84 + idx(128)));
      const f32x4 b_106 = load_f32x4(tile_3, (t_84 + idx(160)));
      const f32x4 t_107 = splat_f32x4(extract_f32x4(a_76, 2));
      c_3 = fma_f32x4(t_107, b_105, c_3);
      c_4 = fma_f32x4(t_107, b_106, c_4);
      const f32x4 t_108 = splat_f32x4(extract_f32x4(a_77, 2));
      c_5 = fma_f32x4(t_108, b_105, c_5);
      c_6 = fma_f32x4(t_108, b_106, c_6);
      const f32x4 t_109 = splat_f32x4(extract_f32x4(a_78, 2));
      c_7 = fma_f32x4(t_109, b_105, c_7);
      c_8 = fma_f32x4(t_109, b_106, c_8);
      const f32x4 t_110 = splat_f32x4(extract_f32x4(a_79, 2));
      c_9 = fma_f32x4(t_110, b_105, c_9);
      c_10 = fma_f32x4(t_110, b_106, c_10);
      const f32x4 t_111 = splat_f32x4(extract_f32x4(a_80, 2));
      c_11 = fma_f32x4(t_111, b_105, c_11);
      c_12 = fma_f32x4(t_111, b_106, c_12);
      const f32x4 t_112 = splat_f32x4(extract_f32x4(a_81, 2));
      c_13 = fma_f32x4(t_112, b_105, c_13);
      c_14 = fma_f32x4(t_112, b_106, c_14);
      const f32x4 t_113 = splat_f32x4(extract_f32x4(a_82, 2));
      c_15 = fma_f32x4(t_113, b_105, c_15);
      c_16 = fma_f32x4(t_113, b_106, c_16);
      const f32x4 t_114 = splat_f32x4(extract_f32x4(a_83, 2));
      c_17 = fma_f32x4(t_114, b_105, c_17);
      c_18 = fma_f32x4(t_114, b_106, c_18);
      const f32x4 b_115 = load_f32x4(tile_3, (t_84 + idx(192)));
      const f32x4 b_116 = load_f32x4(tile_3, (t_84 + idx(224)));
      const f32x4 t_117 = splat_f32x4(extract_f32x4(a_76, 3));
      c_3 = fma_f32x4(t_117, b_115, c_3);
      c_4 = fma_f32x4(t_117, b_116, c_4);
      const f32x4 t_118 = splat_f32x4(extract_f32x4(a_77, 3));
      c_5 = fma_f32x4(t_118, b_115, c_5);
      c_6 = fma_f32x4(t_118, b_116, c_6);
      const f32x4 t_119 = splat_f32x4(extract_f32x4(a_78, 3));
      c_7 = fma_f32x4(t_119, b_115, c_7);
      c_8 = fma_f32x4(t_119, b_116, c_8);
      const f32x4 t_120 = splat_f32x4(extract_f32x4(a_79, 3));
      c_9 = fma_f32x4(t_120, b_115, c_9);
      c_10 = fma_f32x4(t_120, b_116, c_10);
      const f32x4 t_121 = splat_f32x4(extract_f32x4(a_80, 3));
      c_11 = fma_f32x4(t_121, b_115, c_11);
      c_12 = fma_f32x4(t_121, b_116, c_12);
      const f32x4 t_122 = splat_f32x4(extract_f32x4(a_81, 3));
      c_13 = fma_f32x4(t_122, b_115, c_13);
      c_14 = fma_f32x4(t_122, b_116, c_14);
      const f32x4 t_123 = splat_f32x4(extract_f32x4(a_82, 3));
      c_15 = fma_f32x4(t_123, b_115, c_15);
      c_16 = fma_f32x4(t_123, b_116, c_16);
      const f32x4 t_124 = splat_f32x4(extract_f32x4(a_83, 3));
      c_17 = fma_f32x4(t_124, b_115, c_17);
      c_18 = fma_f32x4(t_124, b_116, c_18);
    }
    NNC_BARRIER();
  }
  copy_wait_0();
  const idx t_125 = ((ty_2 * idx(64)) + bx_19);
  store_f32x4(tile_3, t_125, c_3);
  store_f32x4(tile_3, (t_125 + idx(32)), c_4);
  store_f32x4(tile_3, (t_125 + idx(1024)), c_5);
  store_f32x4(tile_3, (t_125 + idx(1056)), c_6);
  store_f32x4(tile_3, (t_125 + idx(2048)), c_7);
  store_f32x4(tile_3, (t_125 + idx(2080)), c_8);
  store_f32x4(tile_3, (t_125 + idx(3072)), c_9);
  store_f32x4(tile_3, (t_125 + idx(3104)), c_10);
  store_f32x4(tile_3, (t_125 + idx(4096)), c_11);
  store_f32x4(tile_3, (t_125 + idx(4128)), c_12);
  store_f32x4(tile_3, (t_125 + idx(5120)), c_13);
  store_f32x4(tile_3, (t_125 + idx(5152)), c_14);
  store_f32x4(tile_3, (t_125 + idx(6144)), c_15);
  store_f32x4(tile_3, (t_125 + idx(6176)), c_16);
  store_f32x4(tile_3, (t_125 + idx(7168)), c_17);
  store_f32x4(tile_3, (t_125 + idx(7200)), c_18);
  NNC_BARRIER();
  for (idx e_126 = idx(0), e_126_end = idx(16); e_126 < e_126_end; e_126 += 1) {
    const idx id_127 = (NNC_THREAD + (e_126 * idx(128)));
    const idx row_128 = floordiv_idx(id_127, idx(16));
    const idx col_129 = (floormod_idx(id_127, idx(16)) * idx(4));
    const idx m_130 = (m0_0 + row_128);
    const idx at_131 = ((row_128 * idx(64)) + col_129);
    const f32x4 c_132 = load_f32x4(tile_3, at_131);
    store_f32x4(out0, ((m_130 * idx(64)) + col_129), c_132);
  }
}
