// A thread calls a virtual function while the object is being destroyed: the destructor of the base writes the pointer to its functions.
#include <pthread.h>

struct Shape {
    virtual int sides() { return 0; }
    virtual ~Shape();
};

static int counted, at_end;

__attribute__((noinline)) static void note(Shape *shape)
{
    at_end = shape->sides();
}

Shape::~Shape()
{
    note(this);
}

struct Square : Shape {
    int sides() override { return 4; }
    ~Square() override {}
};

static void *asks(void *shape)
{
    counted = static_cast<Shape *>(shape)->sides();
    return nullptr;
}

int main()
{
    pthread_t thread;
    Shape *shape = new Square;
    pthread_create(&thread, nullptr, asks, shape);
#ifdef FIXED
    pthread_join(thread, nullptr);
    shape->~Shape();
#else
    shape->~Shape();
    pthread_join(thread, nullptr);
#endif
    ::operator delete(shape);
    return counted + at_end > 4;
}
