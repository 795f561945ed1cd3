package fetchtest

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A server of the scheme x-tree: requests are a verb, a path and numbers,
// divided by tabs; answers are a line and what it announces.
//
//	GET path offset length    200 size         and so many octets
//	STAT path                 200 size
//	LIST path                 200 count        and so many lines: "d" or "f", size, name
//	                          404 what is wrong
type treeServer struct {
	tree  fs.FS
	addr  string
	quit  chan struct{}
	mu    sync.Mutex
	lines []string
	fault *Fault
}

func startTreeServer(t testing.TB, tree fs.FS) *treeServer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &treeServer{tree: tree, addr: l.Addr().String(), quit: make(chan struct{})}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		close(s.quit)
		l.Close()
		running.Wait()
	})
	return s
}

func (s *treeServer) log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.lines...)
}

func (s *treeServer) arm(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = &f
}

func (s *treeServer) takeFault() *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.fault
	s.fault = nil
	return f
}

func (s *treeServer) serve(conn net.Conn) {
	defer conn.Close()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-s.quit:
			conn.Close()
		case <-done:
		}
	}()
	for in := bufio.NewScanner(conn); in.Scan(); {
		s.mu.Lock()
		s.lines = append(s.lines, in.Text())
		s.mu.Unlock()
		if !s.answer(conn, strings.Split(in.Text(), "\t")) {
			return
		}
	}
}

func (s *treeServer) answer(conn net.Conn, words []string) bool {
	if len(words) < 2 || words[0] == "GET" && len(words) < 4 {
		fmt.Fprintf(conn, "400 bad request\r\n")
		return true
	}
	name := path.Clean(strings.TrimSuffix(words[1], "/"))
	info, err := fs.Stat(s.tree, name)
	if err != nil || (words[0] == "LIST") != info.IsDir() {
		fmt.Fprintf(conn, "404 no %s\r\n", name)
		return true
	}
	switch words[0] {
	case "STAT":
		fmt.Fprintf(conn, "200 %d\r\n", info.Size())
	case "LIST":
		entries, _ := fs.ReadDir(s.tree, name)
		fmt.Fprintf(conn, "200 %d\r\n", len(entries))
		for _, e := range entries {
			kind, size := "f", int64(0)
			if info, err := e.Info(); err == nil {
				size = info.Size()
			}
			if e.IsDir() {
				kind = "d"
			}
			fmt.Fprintf(conn, "%s\t%d\t%s\r\n", kind, size, e.Name())
		}
	case "GET":
		data, _ := fs.ReadFile(s.tree, name)
		offset, _ := strconv.Atoi(words[2])
		length, _ := strconv.Atoi(words[3])
		data = data[min(offset, len(data)):]
		if length > 0 {
			data = data[:min(length, len(data))]
		}
		return s.send(conn, data)
	}
	return true
}

// send sends data as the armed fault has it, and reports whether the
// connection can go on.
func (s *treeServer) send(conn net.Conn, data []byte) bool {
	fault := s.takeFault()
	if fault == nil {
		fmt.Fprintf(conn, "200 %d\r\n", len(data))
		_, err := conn.Write(data)
		return err == nil
	}
	switch *fault {
	case Noise:
		io.WriteString(conn, "\x1b[31m\xff\xfe\x00 rubbish\x07\r\n")
		return false
	case Cut:
		fmt.Fprintf(conn, "200 %d\r\n", len(data))
		conn.Write(data[:len(data)/2])
		return false
	}
	fmt.Fprintf(conn, "200 %d\r\n", len(data))
	conn.Write(data[:len(data)/2])
	io.Copy(io.Discard, conn)
	return false
}
