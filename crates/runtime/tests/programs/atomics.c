// Every atomic operation, at every size, checked by what it returns.
#include <assert.h>
#include <stdint.h>
#define ORDER __ATOMIC_SEQ_CST
#define ALL(type)                                                                              \
    do {                                                                                       \
        static type cell;                                                                      \
        type expected, one = (type)1 << (sizeof(type) * 8 - 2);                                \
        __atomic_store_n(&cell, one, ORDER);                                                   \
        assert(__atomic_load_n(&cell, ORDER) == one);                                          \
        assert(__atomic_fetch_add(&cell, 5, ORDER) == one);                                    \
        assert(__atomic_fetch_sub(&cell, 1, ORDER) == (type)(one + 5));                        \
        assert(__atomic_fetch_or(&cell, 3, ORDER) == (type)(one + 4));                         \
        assert(__atomic_fetch_and(&cell, ~(type)1, ORDER) == (type)(one + 7));                 \
        assert(__atomic_fetch_xor(&cell, 2, ORDER) == (type)(one + 6));                        \
        assert(__atomic_fetch_nand(&cell, one, ORDER) == (type)(one + 4));                     \
        assert(__atomic_exchange_n(&cell, 9, ORDER) == (type)~one);                            \
        expected = 8;                                                                          \
        assert(!__atomic_compare_exchange_n(&cell, &expected, one, 0, ORDER, ORDER));          \
        assert(expected == 9);                                                                 \
        assert(__atomic_compare_exchange_n(&cell, &expected, one + 1, 0, ORDER, ORDER));       \
        assert(__sync_val_compare_and_swap(&cell, one + 1, 7) == (type)(one + 1));             \
        assert(__sync_val_compare_and_swap(&cell, one + 1, 3) == 7);                           \
    } while (0)
int main(void) {
    ALL(uint8_t);
    ALL(uint16_t);
    ALL(uint32_t);
    ALL(uint64_t);
    ALL(unsigned __int128);
    __atomic_thread_fence(ORDER);
    return 0;
}
