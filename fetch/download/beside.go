package download

import "io"

// besideFrom is the least number of bytes that are digested beside the stream: for fewer, waking
// another goroutine costs more than it gains.
const besideFrom = 32 << 10

// maxBeside is how many buffers may wait to be digested. If the digest is slower than the stream,
// the stream waits for it.
const maxBeside = 4

// A beside digests buffers in a goroutine of its own while the stream goes on. The zero value is
// ready.
type beside struct {
	w     io.Writer // never fails
	queue chan piece
	done  chan struct{}
}

// A piece is a part of a buffer from the pool.
type piece struct {
	buf  *[bufferSize]byte
	data []byte // in buf
}

// take has a piece digested after all others, and then puts its buffer back into the pool.
func (b *beside) take(p piece) {
	if b.queue == nil {
		b.queue, b.done = make(chan piece, maxBeside), make(chan struct{})
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

// settle waits until everything is digested, and ends the goroutine.
func (b *beside) settle() {
	if b.queue != nil {
		close(b.queue)
		<-b.done
		b.queue = nil
	}
}
