package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/queue"
)

// A Copy is one replica of a stream, as the server that keeps it has it. Servers verify checksums
// only when they read a message, and count those that they cannot read.
type Copy struct {
	Server      string
	Messages    uint64 // that the server counts
	Readable    uint64
	First, Last uint64 // sequence numbers
	Unknown     bool   // the server could not lead the stream, so its copy could not be read
	Silent      bool   // the server does not respond; Unknown is true, too
	hash        uint64 // of the readable messages
	// sequences has the sequence number of each readable message by its subject.
	sequences map[string]uint64
}

func (c *Copy) String() string {
	switch {
	case c.Silent:
		return c.Server + " does not respond"
	case c.Unknown:
		return c.Server + " unknown"
	case c.Readable < c.Messages:
		return fmt.Sprintf("%s %d (%d damaged)", c.Server, c.Readable, c.Messages-c.Readable)
	}
	return fmt.Sprintf("%s %d", c.Server, c.Readable)
}

// equal reports whether two copies have the same messages, and no damaged ones.
func (c *Copy) equal(d *Copy) bool {
	return !c.Unknown && !d.Unknown && c.Readable == c.Messages && d.Readable == d.Messages &&
		c.Readable == d.Readable && c.First == d.First && c.Last == d.Last && c.hash == d.hash
}

// DescribeCopies returns the servers of copies with their numbers of messages.
func DescribeCopies(copies []Copy) string {
	var all []string
	for i := range copies {
		all = append(all, copies[i].String())
	}
	return strings.Join(all, ", ")
}

// allEqual reports whether all copies have the same messages, and no damaged ones.
func allEqual(copies []Copy) bool {
	for i := range copies {
		if !copies[i].equal(&copies[0]) {
			return false
		}
	}
	return true
}

// choose returns the copy from which the others can be made without a loss. That is the fullest one,
// if it has no damaged messages: a server that copies a stream stops at the first of these, and
// reports that it has all. An unknown copy is not fuller than one that has every message from its
// first to its last.
func choose(copies []Copy) (*Copy, error) {
	best := fullestOf(copies)
	unknown := slices.ContainsFunc(copies, func(c Copy) bool { return c.Unknown })
	switch {
	case best == nil:
		return nil, errors.New("no copy can be read")
	case best.Readable < best.Messages:
		return nil, errDamaged
	case unknown && best.Messages > 0 && best.Messages != best.Last-best.First+1:
		return nil, errors.New("a copy cannot be read and may have more")
	}
	return best, nil
}

var errDamaged = errors.New("the fullest copy is damaged, and NATS cannot copy it")

func (c *Copy) better(d *Copy) bool {
	if c.Readable != d.Readable {
		return c.Readable > d.Readable
	}
	if damaged, other := c.Messages-c.Readable, d.Messages-d.Readable; damaged != other {
		return damaged < other
	}
	return c.Last > d.Last
}

const (
	// leadTime limits the time until another server leads a stream.
	leadTime = 20 * time.Second
	// readers is the number of concurrent requests that read a copy.
	readers = 32
)

// Copies reads every replica of the results that can be reached. If they differ, it makes the server with
// the fullest one lead, and returns its name; otherwise it returns "". It needs the rights of an
// administrator. While copies differ, Results may read any of them, and LeaderResults that of the leader.
func (e *Engine) Copies(ctx context.Context) (all []Copy, fullest string, err error) {
	name := e.streamName("results")
	if all, err = e.copies(ctx, name); err != nil || allEqual(responding(all)) {
		return all, "", explain(&e.opts, err)
	}
	best := fullestOf(all)
	if best == nil {
		return all, "", nil
	}
	s, err := e.ledStream(ctx, name)
	if err == nil {
		err = e.leadFullest(ctx, s, best)
	}
	return all, best.Server, explain(&e.opts, err)
}

// LeaderResults yields the results that the leader can read, one by one.
func (e *Engine) LeaderResults(ctx context.Context) iter.Seq2[queue.Stored, error] {
	return func(yield func(queue.Stored, error) bool) {
		name := e.streamName("results")
		s, err := e.ledStream(ctx, name)
		if err != nil {
			yield(queue.Stored{}, explain(&e.opts, err))
			return
		}
		state := s.CachedInfo().State
		for seq := state.FirstSeq; state.Msgs > 0 && seq <= state.LastSeq; seq++ {
			m, err := e.leaderMessage(ctx, name, seq)
			if hasCode(err, codeNoMessage) {
				continue
			}
			id := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
			if !yield(queue.Stored{Sequence: seq, ID: id, Data: m.Data, Time: m.Time},
				explain(&e.opts, err)) || err != nil {
				return
			}
		}
	}
}

func responding(copies []Copy) []Copy {
	return slices.DeleteFunc(slices.Clone(copies), func(c Copy) bool { return c.Silent })
}

// fullestOf returns the copy with the most readable messages, or nil if none is known.
func fullestOf(copies []Copy) (best *Copy) {
	for i := range copies {
		if c := &copies[i]; !c.Unknown && (best == nil || c.better(best)) {
			best = c
		}
	}
	return best
}

// copies reads all replicas of a stream: each server leads it in turn, because only a leader says what
// its own copy has.
func (e *Engine) copies(ctx context.Context, name string) ([]Copy, error) {
	s, err := e.ledStream(ctx, name)
	if err != nil {
		return nil, err
	}
	info := s.CachedInfo()
	servers := []string{info.Cluster.Leader}
	var all []Copy
	for _, r := range info.Cluster.Replicas {
		if r.Offline {
			all = append(all, Copy{Server: nameOf(r), Unknown: true, Silent: true})
		} else {
			servers = append(servers, r.Name)
		}
	}
	seed := maphash.MakeSeed()
	for _, server := range servers {
		c := Copy{Server: server, Unknown: true}
		led, err := e.lead(ctx, s, server)
		if err == nil && led {
			err = e.readCopy(ctx, s, &c, seed)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// nameOf returns the name of a server. Servers that have started again do not know the name of one that
// has not.
func nameOf(r *js.PeerInfo) string {
	if strings.HasPrefix(r.Name, "Server name unknown") {
		return "a server without a known name"
	}
	return r.Name
}

// ledStream returns a stream when it has a leader. After a start of the servers, and between two leaders,
// there is none for a while.
func (e *Engine) ledStream(ctx context.Context, name string) (s js.Stream, err error) {
	for end := time.Now().Add(leadTime); ; {
		err = e.operations.guard(ctx, func(ctx context.Context) error {
			s, err = e.js.Stream(ctx, name)
			return err
		}, "STREAM.INFO."+name)
		switch {
		case err == nil && s.CachedInfo().Cluster != nil && s.CachedInfo().Cluster.Leader != "":
			return s, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, js.ErrStreamNotFound), errors.Is(err, nats.ErrPermissionViolation):
			return nil, err
		case time.Now().After(end):
			return nil, cmp.Or(err, ErrNoLeader)
		}
		retry.Sleep(ctx, rebuildPollInterval)
	}
}

// lead makes a server lead a stream, and reports whether it does. A server whose copy is not complete
// enough is not elected.
func (e *Engine) lead(ctx context.Context, s js.Stream, server string) (bool, error) {
	name := s.CachedInfo().Config.Name
	request := fmt.Appendf(nil, `{"placement":{"preferred":%q}}`, server)
	for end := time.Now().Add(leadTime); ; {
		info, err := s.Info(ctx)
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if err == nil && info.Cluster != nil && info.Cluster.Leader == server {
			return true, nil
		}
		if time.Now().After(end) {
			return false, nil
		}
		if err == nil && info.Cluster != nil && info.Cluster.Leader != "" {
			short, cancel := context.WithTimeout(ctx, e.opts.requestTimeout)
			err := e.operations.guard(short, func(ctx context.Context) error {
				_, err := e.conn.RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+name, request)
				return err
			}, "STREAM.LEADER.STEPDOWN."+name)
			cancel()
			if errors.Is(err, nats.ErrPermissionViolation) {
				return false, err
			}
		}
		retry.Sleep(ctx, rebuildPollInterval)
	}
}

// leadFullest makes the server with the fullest copy lead a stream.
func (e *Engine) leadFullest(ctx context.Context, s js.Stream, best *Copy) error {
	led, err := e.lead(ctx, s, best.Server)
	if err == nil && !led {
		err = &fetch.Error{Code: fetch.ErrServer, Retry: true,
			Err: fmt.Errorf("the server with the fullest copy, %s, does not lead the stream", best.Server)}
	}
	return err
}

// readCopy reads the copy of the leader of a stream. Messages may be added and removed at the same
// time.
func (e *Engine) readCopy(ctx context.Context, s js.Stream, c *Copy, seed maphash.Seed) error {
	before, err := s.Info(ctx)
	if err != nil {
		return err
	}
	state := before.State
	c.sequences = map[string]uint64{}
	var mu sync.Mutex // guards c
	problems, spans := make(chan error), 0
	span := (state.LastSeq-state.FirstSeq)/readers + 1
	for first := state.FirstSeq; state.Msgs > 0 && first <= state.LastSeq; first += span {
		spans++
		go func() {
			problems <- e.readSpan(ctx, before.Config.Name, first, min(first+span-1, state.LastSeq),
				func(seq uint64, subject string, data []byte) {
					var h maphash.Hash
					h.SetSeed(seed)
					fmt.Fprintf(&h, "%d %s %s", seq, subject, data)
					mu.Lock()
					defer mu.Unlock()
					c.Readable, c.hash = c.Readable+1, c.hash+h.Sum64()
					c.sequences[subject] = seq
				})
		}()
	}
	for range spans {
		err = cmp.Or(err, <-problems)
	}
	if err != nil {
		return err
	}
	led, err := e.ledStream(ctx, before.Config.Name)
	if err != nil {
		return err
	}
	after := led.CachedInfo()
	if after.Cluster.Leader != c.Server {
		return nil // it remains unknown
	}
	c.Unknown = false
	c.Messages, c.First, c.Last = min(state.Msgs,
		max(after.State.Msgs, c.Readable)), state.FirstSeq, state.LastSeq
	c.Readable = min(c.Readable, c.Messages)
	return nil
}

// codeNoMessage is the code of a request for a message that does not exist or cannot be read.
const codeNoMessage js.ErrorCode = 10037

// readSpan calls found with the messages from first to last that the leader can read. A direct get could
// read any replica.
func (e *Engine) readSpan(ctx context.Context, stream string, first, last uint64,
	found func(seq uint64, subject string, data []byte)) error {
	for seq := first; seq <= last; seq++ {
		m, err := e.leaderMessage(ctx, stream, seq)
		switch {
		case hasCode(err, codeNoMessage):
		case err != nil:
			return err
		default:
			found(seq, m.Subject, m.Data)
		}
	}
	return nil
}

func (e *Engine) leaderMessage(ctx context.Context, stream string, seq uint64) (message, error) {
	var reply struct {
		Error   *js.APIError
		Message message
	}
	ctx, cancel := context.WithTimeout(ctx, e.opts.requestTimeout)
	defer cancel()
	err := e.operations.guard(ctx, func(ctx context.Context) error {
		msg, err := e.conn.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream,
			fmt.Appendf(nil, `{"seq":%d}`, seq))
		if err != nil {
			return err
		}
		return json.Unmarshal(msg.Data, &reply)
	}, "STREAM.MSG.GET."+stream)
	if err == nil && reply.Error != nil {
		err = reply.Error
	}
	return reply.Message, err
}

type message struct {
	Subject string
	Data    []byte
	Time    time.Time
}

// missing returns the messages that the best copy of a stream lacks and others have.
//
// Results that are in segments are not missing: a copy may have lost their removal.
func (e *Engine) missing(ctx context.Context, s js.Stream, copies []Copy, best *Copy) ([]message, error) {
	var all []message
	moved, err := e.segments(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for i := range copies {
		c := &copies[i]
		led := false
		for subject, seq := range c.sequences {
			if _, ok := best.sequences[subject]; ok || known[subject] {
				continue
			}
			if !led {
				var err error
				if led, err = e.lead(ctx, s, c.Server); err != nil || !led {
					return nil, cmp.Or(err, fmt.Errorf("the server %s no longer leads the stream", c.Server))
				}
			}
			m, err := e.leaderMessage(ctx, s.CachedInfo().Config.Name, seq)
			if err != nil {
				return nil, err
			}
			if known[subject] = true; !moved.Covers(&queue.Stored{Sequence: seq, Time: m.Time}) {
				all = append(all, m)
			}
		}
	}
	return all, nil
}
