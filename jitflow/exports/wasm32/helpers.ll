; of 4cf42c1ade38e0351e4af4403303a7350538bc4a80cb0a62d568f143620097d6
@jitflow.returned = internal global ptr null, align 4
@jitflow.end = internal global i32 0, align 4
@__heap_base = external global i8, align 1

define weak hidden float @fmaf(float noundef %0, float noundef %1, float noundef %2) #0 {
  %4 = fpext float %0 to double
  %5 = fpext float %1 to double
  %6 = fmul double %4, %5
  %7 = fpext float %2 to double
  %8 = tail call fastcc double @jitflow.odd_sum(double noundef %6, double noundef %7)
  %9 = fptrunc double %8 to float
  ret float %9
}

define internal fastcc double @jitflow.odd_sum(double noundef %0, double noundef %1) #0 {
  %3 = fadd double %0, %1
  %4 = fsub double %3, %0
  %5 = fsub double %3, %4
  %6 = fsub double %0, %5
  %7 = fsub double %1, %4
  %8 = fadd double %7, %6
  %9 = bitcast double %3 to i64
  %10 = fcmp une double %8, 0.000000e+00
  %11 = and i64 %9, 1
  %12 = icmp eq i64 %11, 0
  %13 = and i1 %12, %10
  %14 = shl i64 %9, 1
  %15 = icmp ult i64 %14, -9007199254740992
  %16 = and i1 %15, %13
  br i1 %16, label %17, label %24

17:
  %18 = icmp slt i64 %9, 0
  %19 = fcmp uge double %8, 0.000000e+00
  %20 = xor i1 %18, %19
  %21 = select i1 %20, i64 1, i64 -1
  %22 = add i64 %21, %9
  %23 = bitcast i64 %22 to double
  br label %24

24:
  %25 = phi double [ %3, %2 ], [ %23, %17 ]
  ret double %25
}

define weak hidden double @fma(double noundef %0, double noundef %1, double noundef %2) #0 {
  %4 = alloca [71 x i64], align 16
  %5 = alloca [71 x i64], align 16
  %6 = bitcast double %0 to i64
  %7 = lshr i64 %6, 52
  %8 = trunc nuw nsw i64 %7 to i32
  %9 = and i32 %8, 2047
  %10 = bitcast double %1 to i64
  %11 = lshr i64 %10, 52
  %12 = trunc nuw nsw i64 %11 to i32
  %13 = and i32 %12, 2047
  %14 = bitcast double %2 to i64
  %15 = lshr i64 %14, 52
  %16 = trunc nuw nsw i64 %15 to i32
  %17 = and i32 %16, 2047
  %18 = icmp eq i32 %9, 2047
  %19 = icmp eq i32 %13, 2047
  %20 = select i1 %18, i1 true, i1 %19
  br i1 %20, label %21, label %24

21:
  %22 = fmul double %0, %1
  %23 = fadd double %22, %2
  br label %258

24:
  %25 = icmp eq i32 %17, 2047
  br i1 %25, label %26, label %28

26:
  %27 = fadd double %2, %2
  br label %258

28:
  %29 = fcmp oeq double %0, 0.000000e+00
  %30 = fcmp oeq double %1, 0.000000e+00
  %31 = or i1 %29, %30
  br i1 %31, label %32, label %35

32:
  %33 = fmul double %0, %1
  %34 = fadd double %33, %2
  br label %258

35:
  %36 = fcmp oeq double %2, 0.000000e+00
  br i1 %36, label %37, label %39

37:
  %38 = fmul double %0, %1
  br label %258

39:
  %40 = icmp samesign ult i32 %9, 60
  %41 = icmp samesign ult i32 %13, 60
  %42 = select i1 %40, i1 true, i1 %41
  %43 = icmp samesign ugt i32 %9, 1900
  %44 = select i1 %42, i1 true, i1 %43
  %45 = icmp samesign ugt i32 %13, 1900
  %46 = select i1 %44, i1 true, i1 %45
  br i1 %46, label %54, label %47

47:
  %48 = add nuw nsw i32 %13, %9
  %49 = icmp samesign ult i32 %48, 1200
  br i1 %49, label %54, label %50

50:
  %51 = icmp samesign ugt i32 %48, 2900
  %52 = icmp samesign ugt i32 %17, 1900
  %53 = select i1 %51, i1 true, i1 %52
  br i1 %53, label %54, label %226

54:
  call void @llvm.lifetime.start.p0(ptr nonnull %4)
  call void @llvm.memset.p0.i32(ptr noundef nonnull align 16 dereferenceable(568) %4, i8 0, i32 568, i1 false)
  call void @llvm.lifetime.start.p0(ptr nonnull %5)
  call void @llvm.memset.p0.i32(ptr noundef nonnull align 16 dereferenceable(568) %5, i8 0, i32 568, i1 false)
  %55 = xor i64 %10, %6
  %56 = lshr i64 %55, 63
  %57 = lshr i64 %14, 63
  %58 = and i64 %6, 4503599627370495
  %59 = icmp eq i32 %9, 0
  %60 = tail call i32 @llvm.umax.i32(i32 %9, i32 1)
  %61 = or disjoint i64 %58, 4503599627370496
  %62 = select i1 %59, i64 %58, i64 %61
  %63 = and i64 %10, 4503599627370495
  %64 = icmp eq i32 %13, 0
  %65 = tail call i32 @llvm.umax.i32(i32 %13, i32 1)
  %66 = or disjoint i64 %63, 4503599627370496
  %67 = select i1 %64, i64 %63, i64 %66
  %68 = and i64 %14, 4503599627370495
  %69 = icmp eq i32 %17, 0
  %70 = tail call i32 @llvm.umax.i32(i32 %17, i32 1)
  %71 = add nsw i32 %70, -1075
  %72 = or disjoint i64 %68, 4503599627370496
  %73 = select i1 %69, i64 %68, i64 %72
  %74 = and i64 %62, 4294967295
  %75 = and i64 %67, 4294967295
  %76 = mul nuw i64 %75, %74
  %77 = add nuw nsw i32 %65, %60
  %78 = add nsw i32 %77, -2150
  call fastcc void @jitflow.place(ptr noundef %4, i64 noundef %76, i32 noundef %78)
  %79 = lshr i64 %62, 32
  %80 = mul nuw nsw i64 %75, %79
  %81 = add nsw i32 %77, -2118
  call fastcc void @jitflow.place(ptr noundef %4, i64 noundef %80, i32 noundef %81)
  %82 = lshr i64 %67, 32
  %83 = mul nuw nsw i64 %82, %74
  call fastcc void @jitflow.place(ptr noundef %4, i64 noundef %83, i32 noundef %81)
  %84 = mul nuw nsw i64 %82, %79
  %85 = add nsw i32 %77, -2086
  call fastcc void @jitflow.place(ptr noundef %4, i64 noundef %84, i32 noundef %85)
  call fastcc void @jitflow.place(ptr noundef %5, i64 noundef %73, i32 noundef %71)
  %86 = icmp eq i64 %56, %57
  br i1 %86, label %87, label %102

87:
  %88 = phi i32 [ %100, %87 ], [ 0, %54 ]
  %89 = phi i64 [ %99, %87 ], [ 0, %54 ]
  %90 = getelementptr inbounds nuw i64, ptr %4, i32 %88
  %91 = load i64, ptr %90, align 8
  %92 = getelementptr inbounds nuw i64, ptr %5, i32 %88
  %93 = load i64, ptr %92, align 8
  %94 = add i64 %93, %91
  %95 = icmp ult i64 %94, %93
  %96 = add i64 %94, %89
  store i64 %96, ptr %90, align 8
  %97 = icmp ult i64 %96, %94
  %98 = or i1 %95, %97
  %99 = zext i1 %98 to i64
  %100 = add nuw nsw i32 %88, 1
  %101 = icmp eq i32 %100, 71
  br i1 %101, label %139, label %87

102:
  %103 = phi i32 [ %110, %109 ], [ 70, %54 ]
  %104 = getelementptr inbounds nuw i64, ptr %4, i32 %103
  %105 = load i64, ptr %104, align 8
  %106 = getelementptr inbounds nuw i64, ptr %5, i32 %103
  %107 = load i64, ptr %106, align 8
  %108 = icmp eq i64 %105, %107
  br i1 %108, label %109, label %115

109:
  %110 = add nsw i32 %103, -1
  %111 = icmp samesign ugt i32 %103, 1
  br i1 %111, label %102, label %112

112:
  %113 = load i64, ptr %4, align 16
  %114 = load i64, ptr %5, align 16
  br label %115

115:
  %116 = phi i64 [ %114, %112 ], [ %107, %102 ]
  %117 = phi i64 [ %113, %112 ], [ %105, %102 ]
  %118 = icmp ult i64 %117, %116
  %119 = select i1 %118, ptr %4, ptr %5
  %120 = select i1 %118, ptr %5, ptr %4
  br label %121

121:
  %122 = phi i64 [ 0, %115 ], [ %134, %121 ]
  %123 = phi i32 [ 0, %115 ], [ %135, %121 ]
  %124 = getelementptr inbounds nuw i64, ptr %120, i32 %123
  %125 = load i64, ptr %124, align 8
  %126 = getelementptr inbounds nuw i64, ptr %119, i32 %123
  %127 = load i64, ptr %126, align 8
  %128 = sub i64 %125, %127
  %129 = icmp ult i64 %125, %127
  %130 = sub i64 %128, %122
  %131 = getelementptr inbounds nuw i64, ptr %4, i32 %123
  store i64 %130, ptr %131, align 8
  %132 = icmp ult i64 %128, %122
  %133 = or i1 %129, %132
  %134 = zext i1 %133 to i64
  %135 = add nuw nsw i32 %123, 1
  %136 = icmp eq i32 %135, 71
  br i1 %136, label %137, label %121

137:
  %138 = select i1 %118, i64 %57, i64 %56
  br label %139

139:
  %140 = phi i64 [ %138, %137 ], [ %56, %87 ]
  br label %141

141:
  %142 = phi i32 [ 4543, %139 ], [ %150, %147 ]
  %143 = phi i32 [ 70, %139 ], [ %148, %147 ]
  %144 = getelementptr inbounds nuw i64, ptr %4, i32 %143
  %145 = load i64, ptr %144, align 8
  %146 = icmp eq i64 %145, 0
  br i1 %146, label %147, label %151

147:
  %148 = add nsw i32 %143, -1
  %149 = icmp eq i32 %143, 0
  %150 = add nsw i32 %142, -64
  br i1 %149, label %224, label %141

151:
  %152 = shl nsw i32 %143, 6
  %153 = or disjoint i32 %152, 63
  %154 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %145, i1 true)
  %155 = trunc nuw nsw i64 %154 to i32
  %156 = sub nuw nsw i32 %153, %155
  %157 = tail call i32 @llvm.smax.i32(i32 %156, i32 1138)
  %158 = add nsw i32 %157, -52
  %159 = icmp slt i32 %156, %158
  br i1 %159, label %160, label %170

160:
  %161 = phi i64 [ 0, %151 ], [ %181, %170 ]
  %162 = add nsw i32 %157, -53
  %163 = lshr i32 %162, 6
  %164 = getelementptr inbounds nuw i64, ptr %4, i32 %163
  %165 = load i64, ptr %164, align 8
  %166 = sub nsw i32 %142, %155
  %167 = tail call i32 @llvm.smax.i32(i32 %166, i32 1138)
  %168 = add nsw i32 %167, -53
  %169 = lshr i32 %168, 6
  br label %190

170:
  %171 = phi i32 [ %182, %170 ], [ %156, %151 ]
  %172 = phi i64 [ %181, %170 ], [ 0, %151 ]
  %173 = shl i64 %172, 1
  %174 = lshr i32 %171, 6
  %175 = getelementptr inbounds nuw i64, ptr %4, i32 %174
  %176 = load i64, ptr %175, align 8
  %177 = and i32 %171, 63
  %178 = zext nneg i32 %177 to i64
  %179 = lshr i64 %176, %178
  %180 = and i64 %179, 1
  %181 = or disjoint i64 %180, %173
  %182 = add nsw i32 %171, -1
  %183 = icmp samesign ugt i32 %171, %158
  br i1 %183, label %170, label %160

184:
  %185 = and i32 %162, 63
  %186 = zext nneg i32 %185 to i64
  %187 = shl nuw i64 1, %186
  %188 = and i64 %165, %187
  %189 = icmp eq i64 %188, 0
  br i1 %189, label %208, label %198

190:
  %191 = phi i32 [ %196, %190 ], [ 0, %160 ]
  %192 = phi i64 [ %195, %190 ], [ 0, %160 ]
  %193 = getelementptr inbounds nuw i64, ptr %4, i32 %191
  %194 = load i64, ptr %193, align 8
  %195 = or i64 %194, %192
  %196 = add nuw nsw i32 %191, 1
  %197 = icmp eq i32 %196, %169
  br i1 %197, label %184, label %190

198:
  %199 = shl nsw i64 -1, %186
  %200 = xor i64 %199, -1
  %201 = and i64 %165, %200
  %202 = or i64 %195, %201
  %203 = icmp ne i64 %202, 0
  %204 = and i64 %161, 1
  %205 = icmp ne i64 %204, 0
  %206 = select i1 %203, i1 true, i1 %205
  %207 = zext i1 %206 to i64
  br label %208

208:
  %209 = phi i64 [ 0, %184 ], [ %207, %198 ]
  %210 = icmp slt i32 %156, 1139
  %211 = add nuw i32 %157, 2958
  %212 = zext i32 %211 to i64
  %213 = shl i64 %212, 52
  %214 = select i1 %210, i64 0, i64 %213
  %215 = add i64 %161, %214
  %216 = add i64 %215, %209
  %217 = icmp sgt i32 %156, 3183
  %218 = icmp ugt i64 %216, 9218868437227405311
  %219 = select i1 %217, i1 true, i1 %218
  %220 = select i1 %219, i64 9218868437227405312, i64 %216
  %221 = shl nuw i64 %140, 63
  %222 = or i64 %220, %221
  %223 = bitcast i64 %222 to double
  br label %224

224:
  %225 = phi double [ %223, %208 ], [ 0.000000e+00, %147 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %5)
  call void @llvm.lifetime.end.p0(ptr nonnull %4)
  br label %258

226:
  %227 = fmul double %0, 0x41A0000002000000
  %228 = fmul double %1, 0x41A0000002000000
  %229 = fsub double %227, %0
  %230 = fsub double %227, %229
  %231 = fsub double %228, %1
  %232 = fsub double %228, %231
  %233 = fsub double %0, %230
  %234 = fsub double %1, %232
  %235 = fmul double %0, %1
  %236 = fmul double %230, %232
  %237 = fsub double %236, %235
  %238 = fmul double %230, %234
  %239 = fadd double %237, %238
  %240 = fmul double %233, %232
  %241 = fadd double %240, %239
  %242 = fmul double %233, %234
  %243 = fadd double %242, %241
  %244 = fadd double %2, %243
  %245 = fsub double %244, %2
  %246 = fsub double %245, %244
  %247 = fadd double %2, %246
  %248 = fsub double %243, %245
  %249 = fadd double %248, %247
  %250 = fadd double %235, %244
  %251 = fsub double %250, %235
  %252 = fsub double %250, %251
  %253 = fsub double %235, %252
  %254 = fsub double %244, %251
  %255 = fadd double %254, %253
  %256 = tail call fastcc double @jitflow.odd_sum(double noundef %249, double noundef %255)
  %257 = fadd double %250, %256
  br label %258

258:
  %259 = phi double [ %23, %21 ], [ %27, %26 ], [ %34, %32 ], [ %38, %37 ], [ %225, %224 ], [ %257, %226 ]
  ret double %259
}

declare void @llvm.lifetime.start.p0(ptr captures(none))

declare void @llvm.lifetime.end.p0(ptr captures(none))

define weak hidden float @__extendhfsf2(i16 noundef zeroext %0) #0 {
  %2 = zext i16 %0 to i32
  %3 = sext i16 %0 to i32
  %4 = and i32 %3, -2147483648
  %5 = lshr i32 %2, 10
  %6 = and i32 %5, 31
  %7 = and i32 %2, 1023
  switch i32 %6, label %20 [
    i32 31, label %8
    i32 0, label %15
  ]

8:
  %9 = shl nuw nsw i32 %2, 13
  %10 = icmp eq i32 %7, 0
  %11 = select i1 %10, i32 0, i32 4194304
  %12 = or i32 %9, %11
  %13 = or disjoint i32 %12, %4
  %14 = or i32 %13, 2139095040
  br label %26

15:
  %16 = uitofp nneg i32 %7 to float
  %17 = fmul float %16, 0x3E70000000000000
  %18 = bitcast float %17 to i32
  %19 = or disjoint i32 %4, %18
  br label %26

20:
  %21 = shl nuw nsw i32 %6, 23
  %22 = add nuw nsw i32 %21, 939524096
  %23 = shl nuw nsw i32 %7, 13
  %24 = or disjoint i32 %22, %23
  %25 = or disjoint i32 %24, %4
  br label %26

26:
  %27 = phi i32 [ %14, %8 ], [ %25, %20 ], [ %19, %15 ]
  %28 = bitcast i32 %27 to float
  ret float %28
}

define weak hidden zeroext i16 @__truncdfhf2(double noundef %0) #0 {
  %2 = bitcast double %0 to i64
  %3 = and i64 %2, 4503599627370495
  %4 = lshr i64 %2, 48
  %5 = trunc nuw nsw i64 %4 to i32
  %6 = and i32 %5, 32768
  %7 = lshr i64 %2, 52
  %8 = trunc nuw nsw i64 %7 to i32
  %9 = and i32 %8, 2047
  %10 = icmp eq i32 %9, 2047
  br i1 %10, label %11, label %20

11:
  %12 = or disjoint i32 %6, 31744
  %13 = zext nneg i32 %12 to i64
  %14 = icmp eq i64 %3, 0
  %15 = lshr i64 %3, 42
  %16 = or i64 %15, 512
  %17 = select i1 %14, i64 0, i64 %16
  %18 = or disjoint i64 %17, %13
  %19 = trunc nuw i64 %18 to i16
  br label %60

20:
  %21 = icmp samesign ugt i32 %9, 1038
  br i1 %21, label %22, label %25

22:
  %23 = trunc nuw i32 %6 to i16
  %24 = or disjoint i16 %23, 31744
  br label %60

25:
  %26 = icmp samesign ult i32 %9, 998
  br i1 %26, label %27, label %29

27:
  %28 = trunc nuw i32 %6 to i16
  br label %60

29:
  %30 = or disjoint i64 %3, 4503599627370496
  %31 = icmp samesign ult i32 %9, 1009
  %32 = sub nuw nsw i32 1051, %9
  %33 = select i1 %31, i32 %32, i32 42
  %34 = zext nneg i32 %33 to i64
  %35 = lshr i64 %30, %34
  %36 = shl nsw i64 -1, %34
  %37 = xor i64 %36, -1
  %38 = and i64 %30, %37
  %39 = add nsw i32 %33, -1
  %40 = zext nneg i32 %39 to i64
  %41 = shl nuw nsw i64 1, %40
  %42 = icmp samesign ugt i64 %38, %41
  br i1 %42, label %49, label %43

43:
  %44 = icmp eq i64 %38, %41
  %45 = and i64 %35, 1
  %46 = icmp ne i64 %45, 0
  %47 = select i1 %44, i1 %46, i1 false
  %48 = zext i1 %47 to i64
  br label %49

49:
  %50 = phi i64 [ 1, %29 ], [ %48, %43 ]
  %51 = and i64 %4, 32768
  %52 = add nsw i32 %9, -1009
  %53 = zext nneg i32 %52 to i64
  %54 = shl nuw nsw i64 %53, 10
  %55 = select i1 %31, i64 0, i64 %54
  %56 = add nuw nsw i64 %55, %35
  %57 = add nuw nsw i64 %56, %50
  %58 = or i64 %57, %51
  %59 = trunc i64 %58 to i16
  br label %60

60:
  %61 = phi i16 [ %19, %11 ], [ %24, %22 ], [ %28, %27 ], [ %59, %49 ]
  ret i16 %61
}

define weak hidden zeroext i16 @__truncsfhf2(float noundef %0) #0 {
  %2 = fpext float %0 to double
  %3 = tail call zeroext i16 @__truncdfhf2(double noundef %2)
  ret i16 %3
}

define weak hidden i128 @__multi3(i128 noundef %0, i128 noundef %1) #0 {
  %3 = trunc i128 %0 to i64
  %4 = lshr i128 %0, 64
  %5 = trunc nuw i128 %4 to i64
  %6 = trunc i128 %1 to i64
  %7 = lshr i128 %1, 64
  %8 = trunc nuw i128 %7 to i64
  %9 = and i64 %3, 4294967295
  %10 = lshr i64 %3, 32
  %11 = and i64 %6, 4294967295
  %12 = lshr i64 %6, 32
  %13 = mul nuw i64 %11, %9
  %14 = mul nuw i64 %11, %10
  %15 = lshr i64 %13, 32
  %16 = add nuw i64 %15, %14
  %17 = mul nuw i64 %12, %9
  %18 = and i64 %16, 4294967295
  %19 = add nuw i64 %18, %17
  %20 = and i64 %13, 4294967295
  %21 = shl i64 %19, 32
  %22 = or disjoint i64 %21, %20
  %23 = mul nuw i64 %12, %10
  %24 = lshr i64 %16, 32
  %25 = lshr i64 %19, 32
  %26 = mul i64 %8, %3
  %27 = mul i64 %5, %6
  %28 = add i64 %23, %27
  %29 = add i64 %28, %26
  %30 = add i64 %29, %24
  %31 = add i64 %30, %25
  %32 = zext i64 %31 to i128
  %33 = shl nuw i128 %32, 64
  %34 = zext i64 %22 to i128
  %35 = or disjoint i128 %33, %34
  ret i128 %35
}

define weak hidden i128 @__ashlti3(i128 noundef %0, i32 noundef %1) #0 {
  %3 = trunc i128 %0 to i64
  %4 = lshr i128 %0, 64
  %5 = trunc nuw i128 %4 to i64
  %6 = and i32 %1, 64
  %7 = icmp eq i32 %6, 0
  %8 = and i32 %1, 63
  %9 = zext nneg i32 %8 to i64
  %10 = shl i64 %3, %9
  br i1 %7, label %11, label %20

11:
  %12 = icmp eq i32 %1, 0
  br i1 %12, label %20, label %13

13:
  %14 = zext nneg i32 %1 to i64
  %15 = shl i64 %5, %14
  %16 = sub nsw i32 64, %1
  %17 = zext nneg i32 %16 to i64
  %18 = lshr i64 %3, %17
  %19 = or i64 %18, %15
  br label %20

20:
  %21 = phi i64 [ 0, %2 ], [ %10, %11 ], [ %10, %13 ]
  %22 = phi i64 [ %10, %2 ], [ %5, %11 ], [ %19, %13 ]
  %23 = zext i64 %22 to i128
  %24 = shl nuw i128 %23, 64
  %25 = zext i64 %21 to i128
  %26 = or disjoint i128 %24, %25
  ret i128 %26
}

define weak hidden i128 @__lshrti3(i128 noundef %0, i32 noundef %1) #0 {
  %3 = trunc i128 %0 to i64
  %4 = lshr i128 %0, 64
  %5 = trunc nuw i128 %4 to i64
  %6 = and i32 %1, 64
  %7 = icmp eq i32 %6, 0
  %8 = and i32 %1, 63
  %9 = zext nneg i32 %8 to i64
  %10 = lshr i64 %5, %9
  br i1 %7, label %11, label %20

11:
  %12 = icmp eq i32 %1, 0
  br i1 %12, label %20, label %13

13:
  %14 = zext nneg i32 %1 to i64
  %15 = lshr i64 %3, %14
  %16 = sub nsw i32 64, %1
  %17 = zext nneg i32 %16 to i64
  %18 = shl i64 %5, %17
  %19 = or i64 %18, %15
  br label %20

20:
  %21 = phi i64 [ 0, %2 ], [ %10, %11 ], [ %10, %13 ]
  %22 = phi i64 [ %10, %2 ], [ %3, %11 ], [ %19, %13 ]
  %23 = zext i64 %21 to i128
  %24 = shl nuw i128 %23, 64
  %25 = zext i64 %22 to i128
  %26 = or disjoint i128 %24, %25
  ret i128 %26
}

define weak hidden i128 @__ashrti3(i128 noundef %0, i32 noundef %1) #0 {
  %3 = trunc i128 %0 to i64
  %4 = lshr i128 %0, 64
  %5 = trunc nuw i128 %4 to i64
  %6 = and i32 %1, 64
  %7 = icmp eq i32 %6, 0
  %8 = ashr i64 %5, 63
  %9 = and i32 %1, 63
  %10 = zext nneg i32 %9 to i64
  %11 = ashr i64 %5, %10
  br i1 %7, label %12, label %21

12:
  %13 = icmp eq i32 %1, 0
  br i1 %13, label %21, label %14

14:
  %15 = zext nneg i32 %1 to i64
  %16 = lshr i64 %3, %15
  %17 = sub nsw i32 64, %1
  %18 = zext nneg i32 %17 to i64
  %19 = shl i64 %5, %18
  %20 = or i64 %19, %16
  br label %21

21:
  %22 = phi i64 [ %8, %2 ], [ %11, %12 ], [ %11, %14 ]
  %23 = phi i64 [ %11, %2 ], [ %3, %12 ], [ %20, %14 ]
  %24 = zext i64 %22 to i128
  %25 = shl nuw i128 %24, 64
  %26 = zext i64 %23 to i128
  %27 = or disjoint i128 %25, %26
  ret i128 %27
}

define weak hidden ptr @malloc(i32 noundef %0) #0 {
  %2 = icmp ugt i32 %0, 2147483392
  br i1 %2, label %54, label %3

3:
  %4 = add nuw nsw i32 %0, 15
  %5 = and i32 %4, 2147483632
  %6 = load ptr, ptr @jitflow.returned, align 4
  %7 = icmp eq ptr %6, null
  br i1 %7, label %33, label %8

8:
  %9 = load i32, ptr %6, align 4
  %10 = icmp ult i32 %9, %5
  %11 = lshr i32 %9, 1
  %12 = icmp samesign ugt i32 %11, %5
  %13 = select i1 %10, i1 true, i1 %12
  br i1 %13, label %20, label %27

14:
  %15 = load i32, ptr %23, align 4
  %16 = icmp ult i32 %15, %5
  %17 = lshr i32 %15, 1
  %18 = icmp samesign ugt i32 %17, %5
  %19 = select i1 %16, i1 true, i1 %18
  br i1 %19, label %20, label %25

20:
  %21 = phi ptr [ %23, %14 ], [ %6, %8 ]
  %22 = getelementptr inbounds nuw i8, ptr %21, i32 4
  %23 = load ptr, ptr %22, align 4
  %24 = icmp eq ptr %23, null
  br i1 %24, label %33, label %14

25:
  %26 = getelementptr inbounds nuw i8, ptr %21, i32 4
  br label %27

27:
  %28 = phi ptr [ %6, %8 ], [ %23, %25 ]
  %29 = phi ptr [ @jitflow.returned, %8 ], [ %26, %25 ]
  %30 = getelementptr inbounds nuw i8, ptr %28, i32 4
  %31 = load ptr, ptr %30, align 4
  store ptr %31, ptr %29, align 4
  %32 = getelementptr inbounds nuw i8, ptr %28, i32 16
  br label %54

33:
  %34 = load i32, ptr @jitflow.end, align 4
  %35 = icmp eq i32 %34, 0
  %36 = and i32 add (i32 ptrtoint (ptr @__heap_base to i32), i32 15), -16
  %37 = select i1 %35, i32 %36, i32 %34
  %38 = add nuw nsw i32 %5, 16
  %39 = add i32 %38, %37
  %40 = tail call i32 @llvm.wasm.memory.size.i32(i32 0)
  %41 = shl i32 %40, 16
  %42 = icmp ult i32 %39, %37
  br i1 %42, label %54, label %43

43:
  %44 = icmp ugt i32 %39, %41
  br i1 %44, label %45, label %51

45:
  %46 = sub nuw i32 %39, %41
  %47 = add i32 %46, 65535
  %48 = lshr i32 %47, 16
  %49 = tail call i32 @llvm.wasm.memory.grow.i32(i32 0, i32 %48)
  %50 = icmp eq i32 %49, -1
  br i1 %50, label %54, label %51

51:
  store i32 %39, ptr @jitflow.end, align 4
  %52 = inttoptr i32 %37 to ptr
  store i32 %5, ptr %52, align 4
  %53 = getelementptr inbounds nuw i8, ptr %52, i32 16
  br label %54

54:
  %55 = phi ptr [ %32, %27 ], [ null, %1 ], [ %53, %51 ], [ null, %33 ], [ null, %45 ]
  ret ptr %55
}

declare i32 @llvm.wasm.memory.size.i32(i32)

declare i32 @llvm.wasm.memory.grow.i32(i32, i32)

define weak hidden void @free(ptr noundef %0) #0 {
  %2 = icmp eq ptr %0, null
  br i1 %2, label %7, label %3

3:
  %4 = getelementptr inbounds i8, ptr %0, i32 -16
  %5 = load ptr, ptr @jitflow.returned, align 4
  %6 = getelementptr inbounds i8, ptr %0, i32 -12
  store ptr %5, ptr %6, align 4
  store ptr %4, ptr @jitflow.returned, align 4
  br label %7

7:
  ret void
}

declare void @llvm.memset.p0.i32(ptr writeonly captures(none), i8, i32, i1 immarg)

define internal fastcc void @jitflow.place(ptr noundef nonnull captures(none) %0, i64 noundef range(i64 0, -8589934590) %1, i32 noundef %2) #0 {
  %4 = add nsw i32 %2, 2160
  %5 = sdiv i32 %4, 64
  %6 = mul i32 %5, 64
  %7 = sub i32 %4, %6
  %8 = zext nneg i32 %7 to i64
  %9 = shl i64 %1, %8
  %10 = icmp eq i32 %7, 0
  %11 = sub nsw i32 64, %7
  %12 = zext nneg i32 %11 to i64
  %13 = lshr i64 %1, %12
  %14 = select i1 %10, i64 0, i64 %13
  %15 = getelementptr inbounds i64, ptr %0, i32 %5
  %16 = load i64, ptr %15, align 8
  %17 = add i64 %16, %9
  store i64 %17, ptr %15, align 8
  %18 = icmp ult i64 %17, %9
  %19 = icmp slt i32 %2, 2320
  %20 = icmp ne i64 %14, 0
  %21 = select i1 %20, i1 true, i1 %18
  %22 = select i1 %19, i1 %21, i1 false
  br i1 %22, label %23, label %39

23:
  %24 = zext i1 %18 to i64
  br label %25

25:
  %26 = phi i32 [ %5, %23 ], [ %29, %25 ]
  %27 = phi i64 [ %14, %23 ], [ 0, %25 ]
  %28 = phi i64 [ %24, %23 ], [ 1, %25 ]
  %29 = add nsw i32 %26, 1
  %30 = getelementptr inbounds i64, ptr %0, i32 %29
  %31 = load i64, ptr %30, align 8
  %32 = add i64 %31, %27
  %33 = icmp ult i64 %32, %27
  %34 = add i64 %32, %28
  store i64 %34, ptr %30, align 8
  %35 = icmp ult i64 %34, %32
  %36 = or i1 %33, %35
  %37 = icmp slt i32 %26, 69
  %38 = select i1 %37, i1 %36, i1 false
  br i1 %38, label %25, label %39

39:
  ret void
}

declare i64 @llvm.ctlz.i64(i64, i1 immarg)

declare i32 @llvm.smax.i32(i32, i32)

declare i32 @llvm.umax.i32(i32, i32)

