/* What WebAssembly lacks: a product and a sum that are rounded once, halves, wide integers, and memory to allocate.
 *
 * helpers.ll is made of this file by make.py, and is what is shipped along with exported programs.
 */

typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;

static u64 bits(double x) { union { double d; u64 i; } u = {x}; return u.i; }
static double number(u64 i) { union { u64 i; double d; } u = {i}; return u.d; }
static u32 bits32(float x) { union { float f; u32 i; } u = {x}; return u.i; }
static float number32(u32 i) { union { u32 i; float f; } u = {i}; return u.f; }

/* The sum rounded to odd: rounding it once more gives what rounding the exact sum would (Boldo and Melquiond, Emulation
 * of a FMA and correctly rounded sums: proved algorithms using rounding to odd, IEEE Transactions on Computers, 2008). */
static double odd_sum(double a, double b)
{
    double sum = a + b, second = sum - a, rest = (a - (sum - second)) + (b - second);
    u64 i = bits(sum);
    if (rest != 0 && !(i & 1) && (i << 1) < 0xffe0000000000000)
        i += (rest < 0) == (int)(i >> 63) ? 1 : -1;
    return number(i);
}

float fmaf(float a, float b, float c)
{
    return (float)odd_sum((double)a * b, c); /* the product is exact */
}

/* The exact sum as a number of 71 words, whose lowest bit is worth 2^-2160; for operands whose product, or what is left
 * of it, is no normal number. All three are finite and none is 0. */
#define WORDS 71
#define LOWEST 2160

static void place(u64 *words, u64 m, int exponent)
{
    int at = exponent + LOWEST, word = at / 64, shift = at % 64;
    u64 low = m << shift, high = shift ? m >> (64 - shift) : 0, carry;
    words[word] += low;
    carry = words[word] < low;
    for (word++; word < WORDS && (high || carry); word++) {
        u64 sum = words[word] + high, more = sum < high;
        words[word] = sum + carry;
        carry = more | (words[word] < sum);
        high = 0;
    }
}

static u64 mantissa(double x, int *exponent)
{
    u64 i = bits(x), m = i & 0xfffffffffffff;
    int e = i >> 52 & 0x7ff;
    *exponent = (e ? e : 1) - 1075;
    return e ? m | 1ull << 52 : m;
}

static double exactly(double a, double b, double c)
{
    u64 product[WORDS] = {0}, other[WORDS] = {0}, *larger = product, *smaller = other, borrow = 0;
    int ea, eb, ec, sign = (bits(a) ^ bits(b)) >> 63, sign_c = bits(c) >> 63, top, word;
    u64 ma = mantissa(a, &ea), mb = mantissa(b, &eb), mc = mantissa(c, &ec);
    place(product, (ma & 0xffffffff) * (mb & 0xffffffff), ea + eb);
    place(product, (ma >> 32) * (mb & 0xffffffff), ea + eb + 32);
    place(product, (ma & 0xffffffff) * (mb >> 32), ea + eb + 32);
    place(product, (ma >> 32) * (mb >> 32), ea + eb + 64);
    place(other, mc, ec);
    if (sign == sign_c) {
        u64 carry = 0;
        for (word = 0; word < WORDS; word++) {
            u64 sum = product[word] + other[word], more = sum < other[word];
            product[word] = sum + carry;
            carry = more | (product[word] < sum);
        }
    } else {
        for (word = WORDS - 1; word > 0 && product[word] == other[word]; word--)
            ;
        if (product[word] < other[word]) {
            larger = other, smaller = product, sign = sign_c;
        }
        for (word = 0; word < WORDS; word++) {
            u64 less = larger[word] - smaller[word], under = larger[word] < smaller[word];
            product[word] = less - borrow;
            borrow = under | (less < borrow);
        }
    }
    for (top = WORDS - 1; top >= 0 && !product[top]; top--)
        ;
    if (top < 0)
        return 0.0;
    int highest = top * 64 + 63 - __builtin_clzll(product[top]);
    int lowest = highest - 52; /* the bit that becomes the last one of the mantissa */
    if (lowest < LOWEST - 1074)
        lowest = LOWEST - 1074;
    u64 m = 0, sticky = 0;
    for (int bit = highest; bit >= lowest; bit--)
        m = m << 1 | (product[bit / 64] >> (bit % 64) & 1);
    int half = product[(lowest - 1) / 64] >> ((lowest - 1) % 64) & 1;
    for (int bit = 0; bit < (lowest - 1) / 64; bit++)
        sticky |= product[bit];
    sticky |= product[(lowest - 1) / 64] & ((1ull << (lowest - 1) % 64) - 1);
    m += half && (sticky || (m & 1));
    int exponent = lowest - LOWEST; /* the result is m * 2^exponent */
    u64 result = exponent == -1074 ? m : m + ((u64)(exponent + 1074) << 52);
    if (exponent > 971 || result >= 0x7ff0000000000000)
        result = 0x7ff0000000000000;
    return number(result | (u64)sign << 63);
}

double fma(double a, double b, double c)
{
    int ea = bits(a) >> 52 & 0x7ff, eb = bits(b) >> 52 & 0x7ff, ec = bits(c) >> 52 & 0x7ff;
    if (ea == 0x7ff || eb == 0x7ff)
        return a * b + c;
    if (ec == 0x7ff)
        return c + c;
    if (a == 0 || b == 0)
        return a * b + c;
    if (c == 0)
        return a * b;
    if (ea < 60 || eb < 60 || ea > 1900 || eb > 1900 || ea + eb < 1200 || ea + eb > 2900 || ec > 1900)
        return exactly(a, b, c);
    double sa = a * 134217729.0, sb = b * 134217729.0; /* halves of the mantissas: Dekker's product */
    double ha = sa - (sa - a), hb = sb - (sb - b), la = a - ha, lb = b - hb;
    double high = a * b, low = ((ha * hb - high) + ha * lb + la * hb) + la * lb;
    double first = c + low, second = first - c, rest = (c - (first - second)) + (low - second);
    double sum = high + first, part = sum - high, lost = (high - (sum - part)) + (first - part);
    return sum + odd_sum(rest, lost);
}

/* Halves, as IEEE 754 converts them. */

float __extendhfsf2(u16 half)
{
    u32 sign = (u32)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
    if (exponent == 31)
        return number32(sign | 0x7f800000 | fraction << 13 | (fraction ? 0x400000 : 0));
    if (!exponent)
        return number32(sign | bits32((float)fraction * 0x1p-24f));
    return number32(sign | (exponent + 112) << 23 | fraction << 13);
}

u16 __truncdfhf2(double x)
{
    u64 i = bits(x), fraction = i & 0xfffffffffffff;
    u32 sign = i >> 48 & 0x8000;
    int exponent = (int)(i >> 52 & 0x7ff) - 1023, shift;
    if (exponent == 1024)
        return sign | 0x7c00 | (fraction ? 0x200 | fraction >> 42 : 0);
    if (exponent > 15)
        return sign | 0x7c00;
    if (exponent < -25)
        return sign;
    fraction |= 1ull << 52;
    shift = exponent < -14 ? 42 + (-14 - exponent) : 42;
    u64 m = fraction >> shift, left = fraction & ((1ull << shift) - 1), half = 1ull << (shift - 1);
    m += left > half || (left == half && (m & 1));
    return sign | (exponent < -14 ? m : m + ((u64)(exponent + 14) << 10));
}

u16 __truncsfhf2(float x)
{
    return __truncdfhf2(x);
}

/* Wide integers. */

typedef union { unsigned __int128 all; struct { u64 low, high; } half; } wide;

unsigned __int128 __multi3(unsigned __int128 a, unsigned __int128 b)
{
    wide x = {a}, y = {b}, r;
    u64 xl = x.half.low & 0xffffffff, xh = x.half.low >> 32, yl = y.half.low & 0xffffffff, yh = y.half.low >> 32;
    u64 low = xl * yl, one = xh * yl + (low >> 32), two = xl * yh + (one & 0xffffffff);
    r.half.low = (low & 0xffffffff) | two << 32;
    r.half.high = xh * yh + (one >> 32) + (two >> 32) + x.half.low * y.half.high + x.half.high * y.half.low;
    return r.all;
}

unsigned __int128 __ashlti3(unsigned __int128 a, int by)
{
    wide x = {a}, r;
    r.half.low = by & 64 ? 0 : x.half.low << (by & 63);
    r.half.high = by & 64 ? x.half.low << (by & 63) : by ? x.half.high << by | x.half.low >> (64 - by) : x.half.high;
    return r.all;
}

unsigned __int128 __lshrti3(unsigned __int128 a, int by)
{
    wide x = {a}, r;
    r.half.high = by & 64 ? 0 : x.half.high >> (by & 63);
    r.half.low = by & 64 ? x.half.high >> (by & 63) : by ? x.half.low >> by | x.half.high << (64 - by) : x.half.low;
    return r.all;
}

__int128 __ashrti3(__int128 a, int by)
{
    wide x = {a}, r;
    long long high = x.half.high;
    r.half.high = by & 64 ? high >> 63 : high >> (by & 63);
    r.half.low = by & 64 ? high >> (by & 63) : by ? x.half.low >> by | x.half.high << (64 - by) : x.half.low;
    return r.all;
}

/* Memory: blocks that were given back, the first that is large enough; else more from the end of what there is. */

extern u8 __heap_base;
typedef struct block { u32 size; struct block *next; u32 unused[2]; } block;
static block *returned;
static u32 end;

__attribute__((weak)) void *malloc(u32 size)
{
    if (size > 0x7fffff00)
        return 0;
    size = (size + 15) & ~15u;
    for (block **at = &returned; *at; at = &(*at)->next) {
        block *found = *at;
        if (found->size >= size && found->size / 2 <= size) {
            *at = found->next;
            return found + 1;
        }
    }
    u32 begin = end ? end : ((u32)&__heap_base + 15) & ~15u, behind = begin + sizeof(block) + size;
    u32 there = __builtin_wasm_memory_size(0) * 65536u;
    if (behind < begin)
        return 0;
    if (behind > there && __builtin_wasm_memory_grow(0, (behind - there + 65535) / 65536) == (__SIZE_TYPE__)-1)
        return 0;
    end = behind;
    block *made = (block *)begin;
    made->size = size;
    return made + 1;
}

__attribute__((weak)) void free(void *memory)
{
    if (memory) {
        block *given = (block *)memory - 1;
        given->next = returned;
        returned = given;
    }
}
