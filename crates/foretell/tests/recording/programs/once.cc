#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>

std::once_flag flag;
int attempts, made;

static void make()
{
    if (++attempts == 1)
        throw std::runtime_error("not yet");
    made = 42;
}

static void use()
{
    try {
        std::call_once(flag, make);
    } catch (const std::runtime_error &) {
        std::call_once(flag, make);
    }
}

static int made_late()
{
    static int tries;
    struct Late {
        int value;
        Late() : value(7) { if (++tries == 1) throw 1; }
    };
    for (;;) {
        try {
            static Late late;
            return late.value;
        } catch (int) {
        }
    }
}

int main()
{
    int late = 0;
    std::thread other([&] { use(); late = made_late(); });
    use();
    int mine = made_late();
    int seen = made;
    other.join();
    std::printf("%d %d %d\n", attempts, seen, mine + late);
}
