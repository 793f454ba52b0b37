;; axpy:
kernel @axpy(%x: buffer f64, %a: f64, %y: buffer f64, %result: buffer f64, %size: index) {
  %0: index[32] = size {dim=32}
  %1: index[0] = size {dim=0}
  %2: index[8] = size {dim=8}                            ; axpy.py:4
  %3: f64x32 = splat %a {lanes=32}                       ; axpy.py:4
  for %1, %size, %0 {parallel=true} (%i: index) {        ; axpy.py:5
    %4: index = subtract %size, %i
    %5: boolx32 = lanes_below %4 {lanes=32}
    %6: index = multiply %i, %2                          ; axpy.py:4
    %7: f64x32 = read %x, %6, %5 {lanes=32}              ; axpy.py:4
    %8: f64x32 = multiply %7, %3                         ; axpy.py:4
    %9: f64x32 = read %y, %6, %5 {lanes=32}              ; axpy.py:4
    %10: f64x32 = add %8, %9                             ; axpy.py:5
    write %result, %6, %10, %5                           ; axpy.py:5
    yield                                                ; axpy.py:5
  }
  yield                                                  ; axpy.py:5
}
->
// grid (ceil(size / 256)), block (32, 8)
extern "C" __global__ void axpy(const f64 *x, f64 a, const f64 *y, f64 *result, i64 size) {
    const i32 lane = threadIdx.x;
    const i64 worker = (i64)blockIdx.x * blockDim.y + threadIdx.y;
    const i64 workers = (i64)gridDim.x * blockDim.y;
    for (i64 i = worker * 32; i < size; i += workers * 32) {  // axpy.py:5
        const i64 v1 = size - i;
        const bool v2 = lane < v1;
        const i64 v3 = i * 8;  // axpy.py:4
        const f64 v4 = v2 ? at(x, v3 + 8 * lane) : 0.0;
        const f64 v5 = v4 * a;
        const f64 v6 = v2 ? at(y, v3 + 8 * lane) : 0.0;
        const f64 v7 = v5 + v6;  // axpy.py:5
        if (v2) at(result, v3 + 8 * lane) = v7;
    }
}

;; softmax:
kernel @softmax(%x: buffer f32, %buffer: buffer f32, %size: index, %0: index, %1: index) {
  %2: f32 = constant {value=89.0, type=<f32>}
  %3: f32x32 = splat %2 {lanes=32}
  %4: f32 = constant {value=-104.0, type=<f32>}
  %5: f32x32 = splat %4 {lanes=32}
  %6: f32 = constant {value=1.4426950408889634, type=<f32>}
  %7: f32x32 = splat %6 {lanes=32}
  %8: f32 = constant {value=12583038.0, type=<f32>}
  %9: f32x32 = splat %8 {lanes=32}
  %10: i32 = constant {value=23, type=<i32>}
  %11: i32x32 = splat %10 {lanes=32}
  %12: f32 = constant {value=-0.6931471824645996, type=<f32>}
  %13: f32x32 = splat %12 {lanes=32}
  %14: f32 = constant {value=1.9046542121259336e-09, type=<f32>}
  %15: f32x32 = splat %14 {lanes=32}
  %16: f32 = constant {value=0.0027628962, type=<f32>}
  %17: f32x32 = splat %16 {lanes=32}
  %18: f32 = constant {value=0.016737428, type=<f32>}
  %19: f32x32 = splat %18 {lanes=32}
  %20: f32 = constant {value=0.08333678, type=<f32>}
  %21: f32x32 = splat %20 {lanes=32}
  %22: f32 = constant {value=0.33333042, type=<f32>}
  %23: f32x32 = splat %22 {lanes=32}
  %24: f32 = constant {value=0.99999988, type=<f32>}
  %25: f32x32 = splat %24 {lanes=32}
  %26: f32 = constant {value=2.0, type=<f32>}
  %27: f32x32 = splat %26 {lanes=32}
  %28: f32 = constant {value=-86.0, type=<f32>}
  %29: f32x32 = splat %28 {lanes=32}
  %30: i32 = constant {value=536870912, type=<i32>}
  %31: i32x32 = splat %30 {lanes=32}
  %32: f32 = constant {value=5.421010862427522e-20, type=<f32>}
  %33: f32x32 = splat %32 {lanes=32}
  %34: f32 = constant {value=1.0, type=<f32>}
  %35: f32x32 = splat %34 {lanes=32}
  %36: index[0] = size {dim=0}
  %37: index[1] = size {dim=1}
  %38: f32 = constant {value=-inf, type=<f32>}
  %39: f32x32 = splat %38 {lanes=32}
  %40: index[32] = size {dim=32}
  %41: index[4] = size {dim=4}
  %42: f32 = constant {value=0, type=<f32>}
  %43: f32x32 = splat %42 {lanes=32}
  %44: index[1024] = size {dim=1024}
  for %36, %size, %37 {parallel=true} (%i: index) {
    %45: index = multiply %i, %1
    %46: f32x32 = for %36, %0, %40, %39 (%47: index, %48: f32x32) {
      %49: index = subtract %0, %47
      %50: boolx32 = lanes_below %49 {lanes=32}
      %51: index = multiply %47, %41
      %52: index = add %45, %51
      %53: f32x32 = read %x, %52, %50 {lanes=32}
      %54: f32x32 = select %50, %53, %39
      %55: f32x32 = maximum %48, %54
      yield %55
    }
    %56: f32 = fold_lanes %46 {combine="maximum"}
    %57: f32x32 = splat %56 {lanes=32}
    %58: f32x32, %59: f32x32 = for %36, %0, %44, %43, %43 (%60: index, %61: f32x32, %62: f32x32) {
      %63: index = add %60, %44
      %64: index = minimum %63, %0
      %65: f32x32 = for %60, %64, %40, %43 (%66: index, %67: f32x32) {
        %68: index = subtract %64, %66
        %69: boolx32 = lanes_below %68 {lanes=32}
        %70: index = multiply %66, %41
        %71: index = add %45, %70
        %72: f32x32 = read %x, %71, %69 {lanes=32}
        %73: f32x32 = subtract %72, %57
        %74: boolx32 = greater %73, %3
        %75: f32x32 = select %74, %3, %73
        %76: boolx32 = less %75, %5
        %77: f32x32 = select %76, %5, %75
        %78: f32x32 = fma %77, %7, %9
        %79: f32x32 = subtract %78, %9
        %80: i32x32 = bitcast %78 {dtype=i32}
        %81: i32x32 = left_shift %80, %11
        %82: f32x32 = fma %79, %13, %77
        %83: f32x32 = fma %79, %15, %82
        %84: f32x32 = fma %83, %17, %19
        %85: f32x32 = fma %84, %83, %21
        %86: f32x32 = fma %85, %83, %23
        %87: f32x32 = fma %86, %83, %25
        %88: f32x32 = fma %83, %87, %27
        %89: f32x32 = fma %83, %88, %27
        %90: boolx32 = less %77, %29
        %91: i32x32 = add %81, %31
        %92: i32x32 = select %90, %91, %81
        %93: f32x32 = bitcast %92 {dtype=f32}
        %94: f32x32 = multiply %89, %93
        %95: f32x32 = select %90, %33, %35
        %96: f32x32 = multiply %94, %95
        %97: f32x32 = select %69, %96, %43
        %98: f32x32 = add %67, %97
        write %buffer, %71, %96, %69
        yield %98
      }
      %99: index = subtract %64, %60
      %100: f32x32 = add %61, %65
      %101: f32x32 = subtract %100, %61
      %102: f32x32 = subtract %100, %101
      %103: f32x32 = subtract %61, %102
      %104: f32x32 = subtract %65, %101
      %105: f32x32 = add %103, %104
      %106: f32x32 = add %62, %105
      yield %100, %106
    }
    %107: f32 = fold_lanes %58 {combine="add"}
    %108: f32 = fold_lanes %59 {combine="add"}
    %109: f32 = add %107, %108
    %110: bool = isfinite %108
    %111: f32 = select %110, %109, %107
    %112: f32x32 = splat %111 {lanes=32}
    for %36, %0, %40 (%113: index) {
      %114: index = subtract %0, %113
      %115: boolx32 = lanes_below %114 {lanes=32}
      %116: index = multiply %113, %41
      %117: index = add %45, %116
      %118: f32x32 = read %buffer, %117, %115 {lanes=32}
      %119: f32x32 = divide %118, %112
      write %buffer, %117, %119, %115
      yield
    }
    yield
  }
  yield
}
->
__device__ f32 maximum_f32(f32 a, f32 b) {
    const f32 best = a > b ? a : b;
    return a != a ? a : best;
}

// Folds the lanes of a warp, the upper half onto the lower until one is left, and gives it to all.
__device__ f32 fold_maximum_f32(f32 lanes) {
    for (i32 half = 16; half > 0; half /= 2) {
        const f32 other = __shfl_down_sync(~0u, lanes, half);
        lanes = maximum_f32(lanes, other);
    }
    return __shfl_sync(~0u, lanes, 0);
}

// Folds the lanes of a warp, the upper half onto the lower until one is left, and gives it to all.
__device__ f32 fold_add_f32(f32 lanes) {
    for (i32 half = 16; half > 0; half /= 2) {
        const f32 other = __shfl_down_sync(~0u, lanes, half);
        lanes = lanes + other;
    }
    return __shfl_sync(~0u, lanes, 0);
}

// grid (ceil(size / 8)), block (32, 8)
extern "C" __global__ void softmax(const f32 *x, f32 *buffer, i64 size, i64 v1, i64 v2) {
    const i32 lane = threadIdx.x;
    const i64 worker = (i64)blockIdx.x * blockDim.y + threadIdx.y;
    const i64 workers = (i64)gridDim.x * blockDim.y;
    for (i64 i = worker; i < size; i += workers) {
        const i64 v3 = i * v2;
        f32 v4 = __int_as_float(0xff800000);
        for (i64 i_2 = 0; i_2 < v1; i_2 += 32) {
            const i64 v5 = v1 - i_2;
            const bool v6 = lane < v5;
            const i64 v7 = i_2 * 4;
            const i64 v8 = v3 + v7;
            const f32 v9 = v6 ? at(x, v8 + 4 * lane) : 0.0f;
            const f32 v10 = v6 ? v9 : __int_as_float(0xff800000);
            const f32 v11 = maximum_f32(v4, v10);
            v4 = v11;
        }
        const f32 v12 = fold_maximum_f32(v4);
        f32 v13 = 0.0f;
        f32 v14 = 0.0f;
        for (i64 i_3 = 0; i_3 < v1; i_3 += 1024) {
            const i64 v15 = i_3 + 1024;
            const i64 v16 = v15 < v1 ? v15 : v1;
            f32 v17 = 0.0f;
            for (i64 i_4 = i_3; i_4 < v16; i_4 += 32) {
                const i64 v18 = v16 - i_4;
                const bool v19 = lane < v18;
                const i64 v20 = i_4 * 4;
                const i64 v21 = v3 + v20;
                const f32 v22 = v19 ? at(x, v21 + 4 * lane) : 0.0f;
                const f32 v23 = v22 - v12;
                const bool v24 = v23 > 89.0f;
                const f32 v25 = v24 ? 89.0f : v23;
                const bool v26 = v25 < (-104.0f);
                const f32 v27 = v26 ? (-104.0f) : v25;
                const f32 v28 = __fmaf_rn(v27, 1.442695f, 1.2583038e+07f);
                const f32 v29 = v28 - 1.2583038e+07f;
                const i32 v30 = __float_as_int(v28);
                const i32 v31 = (i32)((u32)v30 << 23);
                const f32 v32 = __fmaf_rn(v29, (-0.6931472f), v27);
                const f32 v33 = __fmaf_rn(v29, 1.9046542e-09f, v32);
                const f32 v34 = __fmaf_rn(v33, 0.0027628962f, 0.016737428f);
                const f32 v35 = __fmaf_rn(v34, v33, 0.08333678f);
                const f32 v36 = __fmaf_rn(v35, v33, 0.33333042f);
                const f32 v37 = __fmaf_rn(v36, v33, 0.9999999f);
                const f32 v38 = __fmaf_rn(v33, v37, 2.0f);
                const f32 v39 = __fmaf_rn(v33, v38, 2.0f);
                const bool v40 = v27 < (-86.0f);
                const i32 v41 = (i32)((u32)v31 + 536870912);
                const i32 v42 = v40 ? v41 : v31;
                const f32 v43 = __int_as_float(v42);
                const f32 v44 = v39 * v43;
                const f32 v45 = v40 ? 5.421011e-20f : 1.0f;
                const f32 v46 = v44 * v45;
                const f32 v47 = v19 ? v46 : 0.0f;
                const f32 v48 = v17 + v47;
                if (v19) at(buffer, v21 + 4 * lane) = v46;
                v17 = v48;
            }
            const i64 v49 = v16 - i_3;
            const f32 v50 = v13 + v17;
            const f32 v51 = v50 - v13;
            const f32 v52 = v50 - v51;
            const f32 v53 = v13 - v52;
            const f32 v54 = v17 - v51;
            const f32 v55 = v53 + v54;
            const f32 v56 = v14 + v55;
            v13 = v50;
            v14 = v56;
        }
        const f32 v57 = fold_add_f32(v13);
        const f32 v58 = fold_add_f32(v14);
        const f32 v59 = v57 + v58;
        const bool v60 = fabsf(v58) < __int_as_float(0x7f800000);
        const f32 v61 = v60 ? v59 : v57;
        for (i64 i_5 = 0; i_5 < v1; i_5 += 32) {
            const i64 v62 = v1 - i_5;
            const bool v63 = lane < v62;
            const i64 v64 = i_5 * 4;
            const i64 v65 = v3 + v64;
            const f32 v66 = v63 ? at(buffer, v65 + 4 * lane) : 0.0f;
            const f32 v67 = v66 / v61;
            if (v63) at(buffer, v65 + 4 * lane) = v67;
        }
    }
}

;; centred_columns:
kernel @centred_columns(%x: buffer f32, %buffer: buffer f32, %0: buffer f32, %size: index, %1: index, %2: index) {
  %3: index[32] = size {dim=32}
  %4: index[0] = size {dim=0}
  %5: f32 = constant {value=0, type=<f32>}
  %6: f32x32 = splat %5 {lanes=32}
  %7: index[1024] = size {dim=1024}
  %8: index[1] = size {dim=1}
  %9: index[4] = size {dim=4}
  for %4, %size, %3 {parallel=true} (%i: index) {
    %10: index = subtract %size, %i
    %11: boolx32 = lanes_below %10 {lanes=32}
    %12: index = multiply %i, %9
    %13: f32x32, %14: f32x32 = for %4, %1, %7, %6, %6 (%15: index, %16: f32x32, %17: f32x32) {
      %18: index = add %15, %7
      %19: index = minimum %18, %1
      %20: f32x32 = for %15, %19, %8, %6 (%21: index, %22: f32x32) {
        %23: index = multiply %21, %2
        %24: index = add %12, %23
        %25: f32x32 = read %x, %24, %11 {lanes=32}
        %26: f32x32 = add %22, %25
        yield %26
      }
      %27: index = subtract %19, %15
      %28: f32x32 = add %16, %20
      %29: f32x32 = subtract %28, %16
      %30: f32x32 = subtract %28, %29
      %31: f32x32 = subtract %16, %30
      %32: f32x32 = subtract %20, %29
      %33: f32x32 = add %31, %32
      %34: f32x32 = add %17, %33
      yield %28, %34
    }
    %35: f32x32 = add %13, %14
    %36: boolx32 = isfinite %14
    %37: f32x32 = select %36, %35, %13
    %38: f32x32, %39: f32x32 = for %4, %1, %7, %6, %6 (%40: index, %41: f32x32, %42: f32x32) {
      %43: index = add %40, %7
      %44: index = minimum %43, %1
      %45: f32x32 = for %40, %44, %8, %6 (%46: index, %47: f32x32) {
        %48: index = multiply %46, %2
        %49: index = add %12, %48
        %50: f32x32 = read %x, %49, %11 {lanes=32}
        %51: f32x32 = subtract %50, %37
        %52: f32x32 = multiply %51, %51
        %53: f32x32 = add %47, %52
        write %buffer, %49, %51, %11
        yield %53
      }
      %54: index = subtract %44, %40
      %55: f32x32 = add %41, %45
      %56: f32x32 = subtract %55, %41
      %57: f32x32 = subtract %55, %56
      %58: f32x32 = subtract %41, %57
      %59: f32x32 = subtract %45, %56
      %60: f32x32 = add %58, %59
      %61: f32x32 = add %42, %60
      yield %55, %61
    }
    %62: f32x32 = add %38, %39
    %63: boolx32 = isfinite %39
    %64: f32x32 = select %63, %62, %38
    write %0, %12, %64, %11
    yield
  }
  yield
}
->
// grid (ceil(size / 256)), block (32, 8)
extern "C" __global__ void centred_columns(const f32 *x, f32 *buffer, f32 *v1, i64 size, i64 v2, i64 v3) {
    const i32 lane = threadIdx.x;
    const i64 worker = (i64)blockIdx.x * blockDim.y + threadIdx.y;
    const i64 workers = (i64)gridDim.x * blockDim.y;
    for (i64 i = worker * 32; i < size; i += workers * 32) {
        const i64 v4 = size - i;
        const bool v5 = lane < v4;
        const i64 v6 = i * 4;
        f32 v7 = 0.0f;
        f32 v8 = 0.0f;
        for (i64 i_2 = 0; i_2 < v2; i_2 += 1024) {
            const i64 v9 = i_2 + 1024;
            const i64 v10 = v9 < v2 ? v9 : v2;
            f32 v11 = 0.0f;
            for (i64 i_3 = i_2; i_3 < v10; i_3 += 1) {
                const i64 v12 = i_3 * v3;
                const i64 v13 = v6 + v12;
                const f32 v14 = v5 ? at(x, v13 + 4 * lane) : 0.0f;
                const f32 v15 = v11 + v14;
                v11 = v15;
            }
            const i64 v16 = v10 - i_2;
            const f32 v17 = v7 + v11;
            const f32 v18 = v17 - v7;
            const f32 v19 = v17 - v18;
            const f32 v20 = v7 - v19;
            const f32 v21 = v11 - v18;
            const f32 v22 = v20 + v21;
            const f32 v23 = v8 + v22;
            v7 = v17;
            v8 = v23;
        }
        const f32 v24 = v7 + v8;
        const bool v25 = fabsf(v8) < __int_as_float(0x7f800000);
        const f32 v26 = v25 ? v24 : v7;
        f32 v27 = 0.0f;
        f32 v28 = 0.0f;
        for (i64 i_4 = 0; i_4 < v2; i_4 += 1024) {
            const i64 v29 = i_4 + 1024;
            const i64 v30 = v29 < v2 ? v29 : v2;
            f32 v31 = 0.0f;
            for (i64 i_5 = i_4; i_5 < v30; i_5 += 1) {
                const i64 v32 = i_5 * v3;
                const i64 v33 = v6 + v32;
                const f32 v34 = v5 ? at(x, v33 + 4 * lane) : 0.0f;
                const f32 v35 = v34 - v26;
                const f32 v36 = v35 * v35;
                const f32 v37 = v31 + v36;
                if (v5) at(buffer, v33 + 4 * lane) = v35;
                v31 = v37;
            }
            const i64 v38 = v30 - i_4;
            const f32 v39 = v27 + v31;
            const f32 v40 = v39 - v27;
            const f32 v41 = v39 - v40;
            const f32 v42 = v27 - v41;
            const f32 v43 = v31 - v40;
            const f32 v44 = v42 + v43;
            const f32 v45 = v28 + v44;
            v27 = v39;
            v28 = v45;
        }
        const f32 v46 = v27 + v28;
        const bool v47 = fabsf(v28) < __int_as_float(0x7f800000);
        const f32 v48 = v47 ? v46 : v27;
        if (v5) at(v1, v6 + 4 * lane) = v48;
    }
}

;; checked_gather:
kernel @checked_gather(%a: buffer f32, %i: buffer i64, %buffer: buffer f32, %size: index, %0: index) {
  %1: index[32] = size {dim=32}
  %2: index[0] = size {dim=0}
  %3: i64 = cast %2 {dtype=i64}
  %4: index[8] = size {dim=8}
  %5: i64 = cast %0 {dtype=i64}
  %6: i64 = constant {value=0, type=<i64>}
  %7: i64x32 = splat %6 {lanes=32}
  %8: i64x32 = splat %5 {lanes=32}
  %9: index[4] = size {dim=4}
  %10: i64 = cast %9 {dtype=i64}
  %11: i64x32 = splat %10 {lanes=32}
  %12: i64x32 = splat %3 {lanes=32}
  for %2, %size, %1 {parallel=true} (%13: index) {
    %14: index = subtract %size, %13
    %15: boolx32 = lanes_below %14 {lanes=32}
    %16: index = multiply %13, %4
    %17: i64x32 = read %i, %16, %15 {lanes=32}
    %18: boolx32 = less %17, %7
    %19: i64x32 = add %17, %8
    %20: i64x32 = select %18, %19, %17
    %21: boolx32 = less %20, %7
    %22: boolx32 = greater_equal %20, %8
    %23: boolx32 = logical_or %21, %22
    %24: boolx32 = logical_and %23, %15
    %25: bool = any_lane %24
    if %25 () {
      %26: index = first_lane %24
      %27: i64 = extract_lane %17, %26
      %28: bool = constant {value=false, type=<bool>}
      check %28, %27, %5 {error="IndexError", message="index {} is out of bounds for axis 0 with size {}"}
      yield
    } () {
      yield
    }
    %29: i64x32 = select %24, %7, %20
    %30: i64x32 = multiply %29, %11
    %31: i64x32 = add %12, %30
    %32: f32x32 = read_at %a, %31, %15 {lanes=32}
    %33: index = multiply %13, %9
    write %buffer, %33, %32, %15
    yield
  }
  yield
}
->
// The first failure takes the record: status, site, values.
__device__ bool fail(u64 *error, i64 site) {
    if (atomicCAS(error, 0ULL, 1ULL) != 0)
        return false;
    error[1] = site;
    return true;
}

// grid (ceil(size / 256)), block (32, 8)
extern "C" __global__ void checked_gather(const f32 *a, const i64 *i, f32 *buffer, i64 size, i64 v1, u64 *error) {
    if (*error != 0) return;
    const i32 lane = threadIdx.x;
    const i64 worker = (i64)blockIdx.x * blockDim.y + threadIdx.y;
    const i64 workers = (i64)gridDim.x * blockDim.y;
    for (i64 i_2 = worker * 32; i_2 < size; i_2 += workers * 32) {
        const i64 v2 = size - i_2;
        const bool v3 = lane < v2;
        const i64 v4 = i_2 * 8;
        const i64 v5 = v3 ? at(i, v4 + 8 * lane) : 0;
        const bool v6 = v5 < 0;
        const i64 v7 = (i64)((u64)v5 + v1);
        const i64 v8 = v6 ? v7 : v5;
        const bool v9 = v8 < 0;
        const bool v10 = v8 >= v1;
        const bool v11 = v9 || v10;
        const bool v12 = v11 && v3;
        const bool v13 = __any_sync(~0u, v12) != 0;
        if (v13) {
            const i64 v14 = __ffsll(1LL << 32 | __ballot_sync(~0u, v12)) - 1;
            const i64 v15 = __shfl_sync(~0u, v5, v14 < 32 ? (i32)v14 : 31);
            if (fail(error, 0)) {
                error[2] = (i64)v15;
                error[3] = (i64)v1;
            }
            return;
        }
        const i64 v16 = v12 ? 0 : v8;
        const i64 v17 = (i64)((u64)v16 * 4);
        const i64 v18 = (i64)((u64)0 + v17);
        const f32 v19 = v3 ? at(a, v18) : 0.0f;
        const i64 v20 = i_2 * 4;
        if (v3) at(buffer, v20 + 4 * lane) = v19;
    }
}

;; running_sum:
kernel @running_sum(%source: buffer i32, %out: buffer i32, %size: index, %0: index, %1: index) {
  %2: index[0] = size {dim=0}
  %3: index[1] = size {dim=1}
  %4: index = minimum %0, %3
  %5: index[4] = size {dim=4}
  for %2, %size, %3 {parallel=true} (%i: index) {
    %6: index = multiply %i, %1
    %7: index = multiply %i, %1
    %8: index = multiply %i, %1
    %9: index = multiply %i, %1
    for %2, %4, %3 (%10: index) {
      %11: index = multiply %10, %5
      %12: index = add %6, %11
      %13: i32 = read %source, %12 {lanes=0}
      %14: index = multiply %10, %5
      %15: index = add %7, %14
      write %out, %15, %13
      %16: i32 = for %3, %0, %3, %13 (%17: index, %18: i32) {
        %19: index = multiply %17, %5
        %20: index = add %8, %19
        %21: i32 = read %source, %20 {lanes=0}
        %22: i32 = add %18, %21
        %23: index = multiply %17, %5
        %24: index = add %9, %23
        write %out, %24, %22
        yield %22
      }
      yield
    }
    yield
  }
  yield
}
->
// grid (ceil(size / 256)), block (256)
extern "C" __global__ void running_sum(const i32 *source, i32 *out, i64 size, i64 v1, i64 v2) {
    const i64 worker = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    const i64 workers = (i64)gridDim.x * blockDim.x;
    const i64 v3 = v1 < 1 ? v1 : 1;
    for (i64 i = worker; i < size; i += workers) {
        const i64 v4 = i * v2;
        const i64 v5 = i * v2;
        const i64 v6 = i * v2;
        const i64 v7 = i * v2;
        for (i64 i_2 = 0; i_2 < v3; i_2 += 1) {
            const i64 v8 = i_2 * 4;
            const i64 v9 = v4 + v8;
            const i32 v10 = at(source, v9);
            const i64 v11 = i_2 * 4;
            const i64 v12 = v5 + v11;
            at(out, v12) = v10;
            i32 v13 = v10;
            for (i64 i_3 = 1; i_3 < v1; i_3 += 1) {
                const i64 v14 = i_3 * 4;
                const i64 v15 = v6 + v14;
                const i32 v16 = at(source, v15);
                const i32 v17 = (i32)((u32)v13 + v16);
                const i64 v18 = i_3 * 4;
                const i64 v19 = v7 + v18;
                at(out, v19) = v17;
                v13 = v17;
            }
        }
    }
}

;; complex_multiply:
kernel @complex_multiply(%a: buffer f32, %b: buffer f32, %buffer: buffer f32, %size: index) {
  %0: index[32] = size {dim=32}
  %1: index[0] = size {dim=0}
  %2: index[8] = size {dim=8}
  for %1, %size, %0 {parallel=true} (%i: index) {
    %3: index = subtract %size, %i
    %4: boolx32 = lanes_below %3 {lanes=32}
    %5: index = multiply %i, %2
    %6: f32x32, %7: f32x32 = read_pair %a, %5, %4 {lanes=32}
    %8: f32x32, %9: f32x32 = read_pair %b, %5, %4 {lanes=32}
    %10: f32x32 = multiply %6, %8
    %11: f32x32 = multiply %7, %9
    %12: f32x32 = subtract %10, %11
    %13: f32x32 = multiply %6, %9
    %14: f32x32 = multiply %7, %8
    %15: f32x32 = add %13, %14
    write_pair %buffer, %5, %12, %15, %4
    yield
  }
  yield
}
->
// grid (ceil(size / 256)), block (32, 8)
extern "C" __global__ void complex_multiply(const f32 *a, const f32 *b, f32 *buffer, i64 size) {
    const i32 lane = threadIdx.x;
    const i64 worker = (i64)blockIdx.x * blockDim.y + threadIdx.y;
    const i64 workers = (i64)gridDim.x * blockDim.y;
    for (i64 i = worker * 32; i < size; i += workers * 32) {
        const i64 v1 = size - i;
        const bool v2 = lane < v1;
        const i64 v3 = i * 8;
        const f32 v4 = v2 ? at(a, v3 + 8 * lane) : 0.0f;
        const f32 v5 = v2 ? at(a, v3 + 8 * lane + 4) : 0.0f;
        const f32 v6 = v2 ? at(b, v3 + 8 * lane) : 0.0f;
        const f32 v7 = v2 ? at(b, v3 + 8 * lane + 4) : 0.0f;
        const f32 v8 = v4 * v6;
        const f32 v9 = v5 * v7;
        const f32 v10 = v8 - v9;
        const f32 v11 = v4 * v7;
        const f32 v12 = v5 * v6;
        const f32 v13 = v11 + v12;
        if (v2) at(buffer, v3 + 8 * lane) = v10;
        if (v2) at(buffer, v3 + 8 * lane + 4) = v13;
    }
}

;; bools_and_integers:
kernel @bools_and_integers(%a: buffer i16, %b: buffer i16, %c: buffer bool, %buffer: buffer bool, %0: buffer i16, %size: index) {
  %1: u16 = constant {value=16, type=<u16>}
  %2: u16x32 = splat %1 {lanes=32}
  %3: i16 = constant {value=0, type=<i16>}
  %4: i16x32 = splat %3 {lanes=32}
  %5: index[32] = size {dim=32}
  %6: index[0] = size {dim=0}
  %7: index[2] = size {dim=2}
  %8: index[1] = size {dim=1}
  for %6, %size, %5 {parallel=true} (%i: index) {
    %9: index = subtract %size, %i
    %10: boolx32 = lanes_below %9 {lanes=32}
    %11: index = multiply %i, %7
    %12: i16x32 = read %a, %11, %10 {lanes=32}
    %13: i16x32 = read %b, %11, %10 {lanes=32}
    %14: boolx32 = less %12, %13
    %15: boolx32 = read %c, %i, %10 {lanes=32}
    %16: boolx32 = logical_xor %14, %15
    write %buffer, %i, %16, %10
    %17: i16x32 = multiply %12, %13
    %18: u16x32 = bitcast %13 {dtype=u16}
    %19: boolx32 = less %18, %2
    %20: i16x32 = select %19, %13, %4
    %21: i16x32 = left_shift %17, %20
    %22: i16x32 = select %19, %21, %4
    %23: i16x32 = bitwise_not %22
    %24: i16x32 = select %16, %23, %12
    write %0, %11, %24, %10
    yield
  }
  yield
}
->
// grid (ceil(size / 256)), block (32, 8)
extern "C" __global__ void bools_and_integers(const i16 *a, const i16 *b, const u8 *c, u8 *buffer, i16 *v1, i64 size) {
    const i32 lane = threadIdx.x;
    const i64 worker = (i64)blockIdx.x * blockDim.y + threadIdx.y;
    const i64 workers = (i64)gridDim.x * blockDim.y;
    for (i64 i = worker * 32; i < size; i += workers * 32) {
        const i64 v2 = size - i;
        const bool v3 = lane < v2;
        const i64 v4 = i * 2;
        const i16 v5 = v3 ? at(a, v4 + 2 * lane) : 0;
        const i16 v6 = v3 ? at(b, v4 + 2 * lane) : 0;
        const bool v7 = v5 < v6;
        const bool v8 = v3 && at(c, i + lane) != 0;
        const bool v9 = v7 != v8;
        if (v3) at(buffer, i + lane) = v9;
        const i16 v10 = (i16)((u32)v5 * v6);
        const u16 v11 = (u16)v6;
        const bool v12 = v11 < 16;
        const i16 v13 = v12 ? v6 : 0;
        const i16 v14 = (i16)((u32)v10 << v13);
        const i16 v15 = v12 ? v14 : 0;
        const i16 v16 = (i16)~v15;
        const i16 v17 = v9 ? v16 : v5;
        if (v3) at(v1, v4 + 2 * lane) = v17;
    }
}

;; halves:
kernel @halves(%b: buffer bf16, %a: buffer f16, %buffer: buffer f16, %size: index) {
  %0: u32 = constant {value=16, type=<u32>}
  %1: u32x32 = splat %0 {lanes=32}
  %2: index[32] = size {dim=32}
  %3: index[0] = size {dim=0}
  %4: index[2] = size {dim=2}
  for %3, %size, %2 {parallel=true} (%i: index) {
    %5: index = subtract %size, %i
    %6: boolx32 = lanes_below %5 {lanes=32}
    %7: index = multiply %i, %4
    %8: bf16x32 = read %b, %7, %6 {lanes=32}
    %9: u16x32 = bitcast %8 {dtype=u16}
    %10: u32x32 = cast %9 {dtype=u32}
    %11: u32x32 = left_shift %10, %1
    %12: f32x32 = bitcast %11 {dtype=f32}
    %13: f16x32 = read %a, %7, %6 {lanes=32}
    %14: f32x32 = cast %13 {dtype=f32}
    %15: f32x32 = multiply %12, %14
    %16: f16x32 = cast %15 {dtype=f16}
    write %buffer, %7, %16, %6
    yield
  }
  yield
}
->
__device__ f32 half_to_float(u16 bits) {
    f32 number;
    asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(bits));
    return number;
}

__device__ u16 float_to_half(f32 number) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(number));
    return bits;
}

// grid (ceil(size / 256)), block (32, 8)
extern "C" __global__ void halves(const u16 *b, const u16 *a, u16 *buffer, i64 size) {
    const i32 lane = threadIdx.x;
    const i64 worker = (i64)blockIdx.x * blockDim.y + threadIdx.y;
    const i64 workers = (i64)gridDim.x * blockDim.y;
    for (i64 i = worker * 32; i < size; i += workers * 32) {
        const i64 v1 = size - i;
        const bool v2 = lane < v1;
        const i64 v3 = i * 2;
        const u16 v4 = v2 ? at(b, v3 + 2 * lane) : (u16)0x0000;
        const u32 v5 = (u32)v4;
        const u32 v6 = (u32)v5 << 16;
        const f32 v7 = __uint_as_float(v6);
        const u16 v8 = v2 ? at(a, v3 + 2 * lane) : (u16)0x0000;
        const f32 v9 = half_to_float(v8);
        const f32 v10 = v7 * v9;
        const u16 v11 = float_to_half(v10);
        if (v2) at(buffer, v3 + 2 * lane) = v11;
    }
}

;; any_row:
kernel @any_row(%a: buffer bool, %buffer: buffer bool, %size: index, %0: index) {
  %1: index[0] = size {dim=0}
  %2: index[1] = size {dim=1}
  %3: bool = constant {value=false, type=<bool>}
  %4: boolx32 = splat %3 {lanes=32}
  %5: index[32] = size {dim=32}
  for %1, %size, %2 {parallel=true} (%i: index) {
    %6: index = multiply %i, %0
    %7: boolx32 = for %1, %0, %5, %4 (%8: index, %9: boolx32) {
      %10: index = subtract %0, %8
      %11: boolx32 = lanes_below %10 {lanes=32}
      %12: index = add %6, %8
      %13: boolx32 = read %a, %12, %11 {lanes=32}
      %14: boolx32 = select %11, %13, %4
      %15: boolx32 = logical_or %9, %14
      yield %15
    }
    %16: bool = fold_lanes %7 {combine="logical_or"}
    write %buffer, %i, %16
    yield
  }
  yield
}
->
// Folds the lanes of a warp, the upper half onto the lower until one is left, and gives it to all.
__device__ bool fold_logical_or_bool(bool lanes) {
    for (i32 half = 16; half > 0; half /= 2) {
        const bool other = (bool)__shfl_down_sync(~0u, (i32)lanes, half);
        lanes = lanes || other;
    }
    return (bool)__shfl_sync(~0u, (i32)lanes, 0);
}

// grid (ceil(size / 8)), block (32, 8)
extern "C" __global__ void any_row(const u8 *a, u8 *buffer, i64 size, i64 v1) {
    const i32 lane = threadIdx.x;
    const i64 worker = (i64)blockIdx.x * blockDim.y + threadIdx.y;
    const i64 workers = (i64)gridDim.x * blockDim.y;
    for (i64 i = worker; i < size; i += workers) {
        const i64 v2 = i * v1;
        bool v3 = false;
        for (i64 i_2 = 0; i_2 < v1; i_2 += 32) {
            const i64 v4 = v1 - i_2;
            const bool v5 = lane < v4;
            const i64 v6 = v2 + i_2;
            const bool v7 = v5 && at(a, v6 + lane) != 0;
            const bool v8 = v5 ? v7 : false;
            const bool v9 = v3 || v8;
            v3 = v9;
        }
        const bool v10 = fold_logical_or_bool(v3);
        at(buffer, i) = v10;
    }
}

;; axpy in pieces:
kernel @axpy(%x: buffer f64, %a: f64, %y: buffer f64, %result: buffer f64, %size: index) {
  %0: index[64] = size {dim=64}
  %1: index[0] = size {dim=0}
  %2: index[8] = size {dim=8}                            ; axpy.py:4
  %3: f64x64 = splat %a {lanes=64}                       ; axpy.py:4
  for %1, %size, %0 {parallel=true} (%i: index) {        ; axpy.py:5
    %4: index = subtract %size, %i
    %5: boolx64 = lanes_below %4 {lanes=64}
    %6: index = multiply %i, %2                          ; axpy.py:4
    %7: f64x64 = read %x, %6, %5 {lanes=64}              ; axpy.py:4
    %8: f64x64 = multiply %7, %3                         ; axpy.py:4
    %9: f64x64 = read %y, %6, %5 {lanes=64}              ; axpy.py:4
    %10: f64x64 = add %8, %9                             ; axpy.py:5
    write %result, %6, %10, %5                           ; axpy.py:5
    yield                                                ; axpy.py:5
  }
  yield                                                  ; axpy.py:5
}
->
// Numbers that lie side by side in memory.
template <typename T, int N> struct alignas(sizeof(T) * N) Piece {
    T part[N];
};
template <typename T, int N> __device__ bool is_whole(const T &first, const bool (&there)[N]) {
    bool whole = (u64)&first % sizeof(Piece<T, N>) == 0;
    for (i32 n = 0; n < N; ++n)
        whole = whole && there[n];
    return whole;
}
template <int N, typename T> __device__ Piece<T, N> read_piece(const T &first, const bool (&there)[N]) {
    if (is_whole(first, there))
        return *(const Piece<T, N> *)&first;
    Piece<T, N> piece;
    for (i32 n = 0; n < N; ++n)
        piece.part[n] = there[n] ? (&first)[n] : 0;
    return piece;
}
template <int N, typename T> __device__ void write_piece(T &first, const Piece<T, N> &piece, const bool (&there)[N]) {
    if (is_whole(first, there)) {
        *(Piece<T, N> *)&first = piece;
        return;
    }
    for (i32 n = 0; n < N; ++n)
        if (there[n])
            (&first)[n] = piece.part[n];
}

// grid (ceil(size / 512)), block (32, 8)
extern "C" __global__ void axpy(const f64 *x, f64 a, const f64 *y, f64 *result, i64 size) {
    const i32 lane = threadIdx.x;
    const i64 worker = (i64)blockIdx.x * blockDim.y + threadIdx.y;
    const i64 workers = (i64)gridDim.x * blockDim.y;
    for (i64 i = worker * 64; i < size; i += workers * 64) {  // axpy.py:5
        const i64 v1 = size - i;
        const bool v2 = 2 * lane < v1;
        const bool v3 = (2 * lane + 1) < v1;
        const i64 v4 = i * 8;  // axpy.py:4
        const Piece<f64, 2> v5 = read_piece<2>(at(x, v4 + 16 * lane), {v2, v3});
        const f64 v6 = v5.part[0] * a;
        const f64 v7 = v5.part[1] * a;
        const Piece<f64, 2> v8 = read_piece<2>(at(y, v4 + 16 * lane), {v2, v3});
        const f64 v9 = v6 + v8.part[0];  // axpy.py:5
        const f64 v10 = v7 + v8.part[1];
        write_piece(at(result, v4 + 16 * lane), Piece<f64, 2>{v9, v10}, {v2, v3});
    }
}
