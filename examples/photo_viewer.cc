/* A photo viewer. One thread draws the thumbnails of the open album, another closes the album when the user has seen
 * enough. Both say in the status bar what they do.
 */
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

namespace {

class Album {
public:
    explicit Album(int count) : photos(count) {}
    ~Album() { photos = 0; }
    int count() const { return photos; }

private:
    volatile int photos;
};

Album *album;
int thumbnails;

std::mutex status_lock;
const char *status;

void show_status(const char *text)
{
    std::lock_guard<std::mutex> guard(status_lock);
    status = text;
}

void draw()
{
    thumbnails = album->count();
    show_status("drawn");
}

void close_album()
{
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // the user looks at the photos
    show_status("closing");
    delete album;
}

} // namespace

int main()
{
    album = new Album(24);
    std::thread drawing(draw);
    std::thread closing(close_album);
    drawing.join();
    closing.join();

    std::printf("%s, %d thumbnails\n", status, thumbnails);
    return thumbnails == 24 ? 0 : 1;
}
