package warc

import (
	"bufio"
	"bytes"
	"container/heap"
	"fmt"
	"io"
)

// MergeIndexes merges sorted indexes, such as those of WriteIndex, and returns the number of lines.
// Duplicate lines are written once. Only one line of each index is held in memory. An index that is
// not sorted is an error.
func MergeIndexes(w io.Writer, indexes ...io.Reader) (lines int64, err error) {
	out := bufio.NewWriter(w)
	h := &mergeHeap{}
	for _, r := range indexes {
		l := &mergeInput{scanner: bufio.NewScanner(r)}
		l.scanner.Buffer(nil, maxLine)
		if ok, err := l.next(); err != nil {
			return 0, err
		} else if ok {
			*h = append(*h, l)
		}
	}
	heap.Init(h)
	var last []byte
	for h.Len() > 0 {
		l := (*h)[0]
		if lines == 0 || !bytes.Equal(l.line, last) {
			out.Write(l.line)
			out.WriteByte('\n') // Flush returns the error
			last = append(last[:0], l.line...)
			lines++
		}
		ok, err := l.next()
		if err != nil {
			return lines, err
		}
		if ok {
			heap.Fix(h, 0)
		} else {
			heap.Pop(h)
		}
	}
	return lines, out.Flush()
}

type mergeInput struct {
	scanner *bufio.Scanner
	line    []byte
}

func (l *mergeInput) next() (bool, error) {
	for l.scanner.Scan() {
		now := l.scanner.Bytes()
		if len(now) == 0 {
			continue
		}
		if bytes.Compare(now, l.line) < 0 {
			return false, fmt.Errorf("index is not sorted: %.100q after %.100q", now, l.line)
		}
		l.line = append(l.line[:0], now...)
		return true, nil
	}
	return false, l.scanner.Err()
}

type mergeHeap []*mergeInput

func (h mergeHeap) Len() int           { return len(h) }
func (h mergeHeap) Less(i, j int) bool { return bytes.Compare(h[i].line, h[j].line) < 0 }
func (h mergeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *mergeHeap) Push(x any)        { *h = append(*h, x.(*mergeInput)) }
func (h *mergeHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	*h = old[:len(old)-1]
	return l
}
