/* Ends before it does anything. */
#include <stdio.h>

int main(void)
{
    fputs("refuses: no configuration\n", stderr);
    return 3;
}
