// A program of one thread that writes to a message after it has freed it.
#include <stdlib.h>

struct message {
    long id;
    long length;
};

static struct message *volatile last;

int main(void) {
    struct message *message = malloc(sizeof(struct message));
    last = message;
    last->id = 7;
    free(message);
    last->length = 1;
    message = malloc(sizeof(struct message));
    last = message;
    last->length = 2;
    free(message);
    return 0;
}
