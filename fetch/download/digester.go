package download

import "io"

// minConcurrent is the smallest buffer that is digested concurrently, in bytes. For less, waking
// another goroutine costs more than it gains.
const minConcurrent = 32 << 10

// maxQueued bounds the queue of buffers to digest. If the digest is slower than the stream, the
// stream waits for it.
const maxQueued = 4

// A digester digests buffers in a goroutine of its own while the stream continues. Its w must be set.
type digester struct {
	w     io.Writer // never fails
	queue chan piece
	done  chan struct{}
}

type piece struct {
	buf  *[bufferSize]byte
	data []byte // in buf
}

// enqueue queues p. Its buffer returns to the pool once it is digested.
func (b *digester) enqueue(p piece) {
	if b.queue == nil {
		b.queue, b.done = make(chan piece, maxQueued), make(chan struct{})
		go digest(b.w, b.queue, b.done)
	}
	b.queue <- p
}

func digest(w io.Writer, queue <-chan piece, done chan<- struct{}) {
	defer close(done)
	for p := range queue {
		w.Write(p.data)
		buffers.Put(p.buf)
	}
}

// wait waits until the queue is empty and ends the goroutine.
func (b *digester) wait() {
	if b.queue != nil {
		close(b.queue)
		<-b.done
		b.queue = nil
	}
}
