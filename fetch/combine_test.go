package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// combining returns a connection that combines writes, its peer, and the connection below it.
func combining(t *testing.T) (*Conn, net.Conn, *counted) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	inner := &counted{Conn: near}
	c := newConn(inner, 0)
	c.CombineWrites()
	return c, far, inner
}

type counted struct {
	net.Conn
	mu     sync.Mutex
	writes int
}

func (c *counted) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.writes++
	c.mu.Unlock()
	return c.Conn.Write(p)
}

func TestCombinedWritesArriveInOrder(t *testing.T) {
	t.Parallel()
	c, far, inner := combining(t)
	const writers, lines = 8, 500
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for i := range lines {
				if n, err := fmt.Fprintf(c, "%d %d\n", w, i); n == 0 || err != nil {
					t.Errorf("%d: %d, %v", w, n, err)
				}
			}
		})
	}
	next := make([]int, writers)
	in := bufio.NewScanner(far)
	for range writers * lines {
		if !in.Scan() {
			t.Fatal(in.Err())
		}
		var w, i int
		if _, err := fmt.Sscanf(in.Text(), "%d %d", &w, &i); err != nil || next[w] != i {
			t.Fatalf("%q, %v, want line %d", in.Text(), err, next[w])
		}
		next[w]++
	}
	running.Wait()
	if inner.writes >= writers*lines/2 {
		t.Errorf("%d writes were sent as %d", writers*lines, inner.writes)
	}
}

func TestCombinedWritesWaitForThePeer(t *testing.T) {
	t.Parallel()
	c, far, _ := combining(t)
	sent := make(chan int)
	piece := bytes.Repeat([]byte("x"), maxCombined/4)
	go func() {
		total := 0
		for {
			n, err := c.Write(piece)
			if total += n; err != nil {
				sent <- total
				return
			}
		}
	}()
	first := make([]byte, 1)
	if _, err := io.ReadFull(far, first); err != nil { // then the peer reads no more
		t.Fatal(err)
	}
	c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	if total := <-sent; total > 3*maxCombined {
		t.Errorf("%d bytes wait", total)
	}
	if _, err := c.Write(piece); err == nil {
		t.Error("a write after a failed one succeeded")
	}
}

func TestCombinedWritesReportErrors(t *testing.T) {
	t.Parallel()
	c, far, _ := combining(t)
	w := c.conn.(*combiner)
	c.SetWriteDeadline(time.Now().Add(-time.Second))
	if _, err := w.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	for w.err == nil {
		w.changed.Wait()
	}
	w.mu.Unlock()
	if _, err := w.Write([]byte("b")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Write([]byte("c")); err == nil || !strings.Contains(err.Error(), "timeout") && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	c.Close()
	if got, err := io.ReadAll(far); len(got) > 0 || err != nil {
		t.Errorf("received %q, %v", got, err)
	}
}

func TestCombinedWritesAreSentByClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, far, _ := combining(t)
		received := make(chan string)
		go func() {
			got, err := io.ReadAll(far)
			received <- fmt.Sprint(string(got), err)
		}()
		for range 100 {
			c.Write([]byte("."))
		}
		c.Close()
		if got, want := <-received, strings.Repeat(".", 100)+"<nil>"; got != want {
			t.Errorf("got %q", got)
		}
	})
}

func TestCombinedWritesDoNotDelayClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := combining(t) // the peer does not read
		blocked := make(chan error)
		go func() {
			for {
				if _, err := c.Write(make([]byte, maxCombined)); err != nil {
					blocked <- err
					return
				}
			}
		}()
		c.Write([]byte("x"))
		began := time.Now()
		c.Close()
		if took := time.Since(began); took > lastWrite {
			t.Errorf("Close took %v", took)
		}
		if err := <-blocked; !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v", err)
		}
	})
}
