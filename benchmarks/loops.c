/* Element loops of the gallery (examples/programs), as a C programmer writes them: no checks, no promises. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void cholesky(double *a, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) {
            for (int64_t k = 0; k < j; k++)
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
            a[i * n + j] /= a[j * n + j];
        }
        for (int64_t k = 0; k < i; k++)
            a[i * n + i] -= a[i * n + k] * a[i * n + k];
        a[i * n + i] = sqrt(a[i * n + i]);
    }
}

void lu(double *a, int64_t *order, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k]))
                pivot = i;
        if (pivot != k) {
            for (int64_t j = 0; j < n; j++) {
                double kept = a[k * n + j];
                a[k * n + j] = a[pivot * n + j];
                a[pivot * n + j] = kept;
            }
            int64_t kept = order[k];
            order[k] = order[pivot];
            order[pivot] = kept;
        }
        for (int64_t i = k + 1; i < n; i++)
            a[i * n + k] /= a[k * n + k];
        for (int64_t i = k + 1; i < n; i++)
            for (int64_t j = k + 1; j < n; j++)
                a[i * n + j] -= a[i * n + k] * a[k * n + j];
    }
}

int64_t levenshtein(const uint8_t *a, int64_t n, const uint8_t *b, int64_t m) {
    int64_t *previous = malloc((m + 1) * sizeof *previous), *current = calloc(m + 1, sizeof *current);
    for (int64_t j = 0; j <= m; j++)
        previous[j] = j;
    for (int64_t i = 0; i < n; i++) {
        current[0] = i + 1;
        for (int64_t j = 0; j < m; j++) {
            int64_t best = previous[j + 1] + 1, other = current[j] + 1, changed = previous[j] + (a[i] != b[j]);
            best = other < best ? other : best;
            current[j + 1] = changed < best ? changed : best;
        }
        int64_t *kept = previous;
        previous = current;
        current = kept;
    }
    int64_t distance = previous[m];
    free(previous);
    free(current);
    return distance;
}

int64_t needleman_wunsch(const int64_t *a, int64_t n, const int64_t *b, int64_t m, const int64_t *substitution,
                         int64_t gap, int64_t *alignment) {
    int64_t width = m + 1, *score = malloc((n + 1) * width * sizeof *score);
    for (int64_t i = 0; i <= n; i++)
        score[i * width] = -gap * i;
    for (int64_t j = 0; j <= m; j++)
        score[j] = -gap * j;
    for (int64_t i = 1; i <= n; i++)
        for (int64_t j = 1; j <= m; j++) {
            int64_t best = score[(i - 1) * width + j - 1] + substitution[a[i - 1] * 4 + b[j - 1]];
            int64_t up = score[(i - 1) * width + j] - gap, left = score[i * width + j - 1] - gap;
            best = up > best ? up : best;
            score[i * width + j] = left > best ? left : best;
        }
    int64_t i = n, j = m, k = n + m;
    for (int64_t at = 0; at < 2 * (n + m); at++)
        alignment[at] = -1;
    while (i > 0 || j > 0) {
        k--;
        if (i > 0 && j > 0 &&
            score[i * width + j] == score[(i - 1) * width + j - 1] + substitution[a[i - 1] * 4 + b[j - 1]]) {
            i--;
            j--;
            alignment[k] = a[i];
            alignment[n + m + k] = b[j];
        } else if (i > 0 && score[i * width + j] == score[(i - 1) * width + j] - gap) {
            i--;
            alignment[k] = a[i];
        } else {
            j--;
            alignment[n + m + k] = b[j];
        }
    }
    int64_t result = score[n * width + m];
    free(score);
    return result;
}

int64_t smith_waterman(const uint8_t *a, int64_t n, const uint8_t *b, int64_t m, int64_t match, int64_t mismatch,
                       int64_t gap) {
    int64_t *row = calloc(m + 1, sizeof *row), best = 0, end_a = 0, end_b = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t diagonal = 0;
        for (int64_t j = 0; j < m; j++) {
            int64_t score = a[i] == b[j] ? diagonal + match : diagonal - mismatch;
            int64_t up = row[j + 1] - gap, left = row[j] - gap;
            score = up > score ? up : score;
            score = left > score ? left : score;
            score = 0 > score ? 0 : score;
            diagonal = row[j + 1];
            row[j + 1] = score;
            if (score > best) {
                best = score;
                end_a = i + 1;
                end_b = j + 1;
            }
        }
    }
    free(row);
    return best + 1000003 * (end_a + 1000003 * end_b);
}

int64_t insertion_sort(double *x, int64_t n) {
    int64_t moves = 0;
    for (int64_t i = 1; i < n; i++) {
        double key = x[i];
        int64_t j = i - 1;
        while (j >= 0 && x[j] > key) {
            x[j + 1] = x[j];
            j--;
            moves++;
        }
        x[j + 1] = key;
    }
    return moves;
}

int64_t crc16(const uint8_t *data, int64_t n, int64_t polynomial) {
    int64_t crc = 0xFFFF;
    for (int64_t i = 0; i < n; i++) {
        int64_t current = data[i];
        for (int bit = 0; bit < 8; bit++) {
            if ((crc & 1) ^ (current & 1))
                crc = (crc >> 1) ^ polynomial;
            else
                crc >>= 1;
            current >>= 1;
        }
    }
    crc = ~crc & 0xFFFF;
    return ((crc << 8) | (crc >> 8)) & 0xFFFF;
}
