/* Each PE sends a column of its matrix to its right neighbour, element by element in one strided put.
 *
 * Bug: fence orders the put before later ones, but does not tell the neighbour that it is there.
 * Expect: read early or write early: iput at A, load at B
 */
#include "job.h"

enum { ROWS = 8, COLUMNS = 6 };

int main(void)
{
    join();
    float(*matrix)[COLUMNS] = zeroed(ROWS * COLUMNS, sizeof(float));
    float mine[ROWS];
    for (int row = 0; row < ROWS; row++) {
        mine[row] = me + 0.25f * row;
    }

    CALL(nvshmemrs_iput(rt, &matrix[0][COLUMNS - 1], mine, COLUMNS, 1, sizeof(float), ROWS, (me + 1) % n)); /* A */
    IF_MENDED(barrier());
    IF_PLANTED(CALL(nvshmemrs_fence(rt)));
    float last = matrix[ROWS - 1][COLUMNS - 1]; /* B */
    EXPECT(last == (me + n - 1) % n + 0.25f * (ROWS - 1));

    return FREE_AND_LEAVE(matrix);
}
