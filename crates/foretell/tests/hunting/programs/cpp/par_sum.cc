// std::execution::par of libstdc++ runs on libtbb, whose own synchronisation nobody sees.
#include <algorithm>
#include <atomic>
#include <execution>
#include <numeric>
#include <vector>

static int plain;
static std::atomic<int> counted;

int main()
{
    std::vector<int> numbers(64);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::for_each(std::execution::par, numbers.begin(), numbers.end(), [](int &number) {
        number *= 2;
        counted++;
#ifdef RACY
        plain++;
#endif
    });
    int sum = std::reduce(std::execution::par, numbers.begin(), numbers.end());
    plain += sum == 64 * 63;
    return counted == 64 && plain > 0 ? 0 : 1;
}
