package jetstream

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
)

// Objects are a queue.Store in an object store of JetStream, as all programs of NATS read it: the
// content with digest abcd… is the object sha256/ab/abcd…
type Objects struct {
	engine *Engine
	store  js.ObjectStore
	stream js.Stream
	bucket string
	pieces js.JetStream // few of whose messages are under way
	spool  string
}

const (
	// pieceSize is that of the messages that an object consists of, and piecesAtOnce how many are
	// under way.
	pieceSize    = 128 << 10
	piecesAtOnce = 8
	pieceWithin  = 10 * time.Second
)

// Objects opens the object store of the queue, and makes it if it is not there. Contents are in
// files below a directory while they come; "" means that of the system for temporary files.
func (e *Engine) Objects(ctx context.Context, spool string) (*Objects, error) {
	o := &Objects{engine: e, bucket: e.opts.Name, spool: spool}
	var err error
	o.store, err = e.js.ObjectStore(ctx, o.bucket)
	if errors.Is(err, js.ErrBucketNotFound) {
		o.store, err = e.js.CreateObjectStore(ctx, js.ObjectStoreConfig{Bucket: o.bucket, Replicas: e.opts.Replicas, Storage: js.FileStorage,
			Description: "contents by their digests"})
		if errors.Is(err, js.ErrBucketExists) {
			o.store, err = e.js.ObjectStore(ctx, o.bucket)
		}
	}
	if err == nil {
		o.stream, err = e.js.Stream(ctx, "OBJ_"+o.bucket)
	}
	if err == nil {
		o.pieces, err = js.New(e.conn, js.WithPublishAsyncMaxPending(piecesAtOnce), js.WithPublishAsyncTimeout(pieceWithin))
	}
	if err != nil {
		return nil, explain(&e.opts, err)
	}
	return o, nil
}

// Begin implements queue.Store.
func (o *Objects) Begin() (queue.Spool, error) {
	f, err := os.CreateTemp(o.spool, "urlget-")
	if err != nil {
		return nil, err
	}
	return &objectSpool{File: f, objects: o}, nil
}

// Get returns the content with a digest. Reading it fails if it is not that.
func (o *Objects) Get(ctx context.Context, sum string) (io.ReadCloser, error) {
	if !isDigest(sum) {
		return nil, &fetch.Error{Code: fetch.ErrRequest, Err: fmt.Errorf("%q is no SHA-256 digest", sum)}
	}
	r, err := o.store.Get(ctx, queue.ArtefactPath(sum))
	if errors.Is(err, js.ErrObjectNotFound) {
		return nil, &fetch.Error{Code: fetch.ErrNotFound, Err: fmt.Errorf("the object store has no %s", sum)}
	}
	if err != nil {
		return nil, explain(&o.engine.opts, err)
	}
	return queue.Verify(r, sum), nil
}

func isDigest(sum string) bool {
	_, err := hex.DecodeString(sum)
	return err == nil && len(sum) == 64
}

type objectSpool struct {
	*os.File
	objects *Objects
	over    bool
}

// Reader implements queue.Spool.
func (s *objectSpool) Reader() (io.Reader, error) {
	_, err := s.Seek(0, io.SeekStart)
	return struct{ io.Reader }{s.File}, err
}

// Discard implements queue.Spool.
func (s *objectSpool) Discard() {
	if !s.over {
		s.over = true
		s.Close()
		os.Remove(s.Name()) // what cannot be removed is only in the way
	}
}

// Commit implements queue.Spool. One worker at a time puts a content in: what one left behind that
// ended on the way is removed first.
func (s *objectSpool) Commit(ctx context.Context, sum string) (string, error) {
	defer s.Discard()
	if !isDigest(sum) {
		return "", fmt.Errorf("%q is no digest", sum)
	}
	o := s.objects
	err := queue.Once(ctx, o.engine, "object/"+sum, func(ctx context.Context) (bool, error) { return o.holds(ctx, sum) },
		func(ctx context.Context) error {
			if err := o.put(ctx, sum, s.File); err != nil {
				return err
			}
			ok, err := o.has(ctx, sum)
			if !ok && err == nil {
				err = errors.New("pieces of it are missing")
			}
			return err
		})
	if err != nil {
		return "", fmt.Errorf("object %s: %w", sum, err)
	}
	return queue.ArtefactPath(sum), nil
}

func (o *Objects) chunks(id string) string { return "$O." + o.bucket + ".C." + id }

// has reports whether the content is there with all its pieces.
func (o *Objects) has(ctx context.Context, sum string) (bool, error) {
	info, err := o.store.GetInfo(ctx, queue.ArtefactPath(sum))
	if errors.Is(err, js.ErrObjectNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if info.Chunks == 0 {
		return info.Size == 0, nil
	}
	state, err := o.stream.Info(ctx, js.WithSubjectFilter(o.chunks(info.NUID)))
	if err != nil {
		return false, err
	}
	return state.State.Subjects[o.chunks(info.NUID)] == uint64(info.Chunks), nil
}

// holds reports whether the content is there, and has its digest: others may have put something else
// there.
func (o *Objects) holds(ctx context.Context, sum string) (bool, error) {
	if has, err := o.has(ctx, sum); !has || err != nil {
		return false, err
	}
	r, err := o.Get(ctx, sum)
	if err != nil {
		return false, err
	}
	held, err := queue.Holds(r)
	if errors.Is(err, js.ErrDigestMismatch) {
		return false, nil
	}
	return held, err
}

// put writes an object: its pieces, each of them acknowledged, and then what it is. That is what the
// client of NATS does too, but with thousands of pieces under way, and with what it is before all of
// them are known to be there.
func (o *Objects) put(ctx context.Context, sum string, f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := o.stream.Purge(ctx, js.WithPurgeSubject(o.chunks(sum+".*"))); err != nil {
		return err
	}
	info := js.ObjectInfo{Bucket: o.bucket, NUID: sum + "." + rand.Text()}
	info.Name, info.Opts = queue.ArtefactPath(sum), &js.ObjectMetaOptions{ChunkSize: pieceSize}
	digest := sha256.New()
	var under []js.PubAckFuture
	wait := func(most int) error { // until so many are under way
		for len(under) > most {
			select {
			case <-under[0].Ok():
			case err := <-under[0].Err():
				return err
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			under = under[1:]
		}
		return nil
	}
	for {
		piece := make([]byte, pieceSize) // which is the client's until it is acknowledged
		n, err := io.ReadFull(f, piece)
		if n > 0 {
			digest.Write(piece[:n])
			info.Size += uint64(n)
			info.Chunks++
			future, err := o.pieces.PublishAsync(o.chunks(info.NUID), piece[:n])
			if err != nil {
				return err
			}
			under = append(under, future)
			if err := wait(piecesAtOnce - 1); err != nil {
				return err
			}
		}
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if err := wait(0); err != nil {
		return err
	}
	if hex.EncodeToString(digest.Sum(nil)) != sum {
		return errors.New("the temporary file holds something else than what was received")
	}
	info.Digest = "SHA-256=" + base64.URLEncoding.EncodeToString(digest.Sum(nil))
	data, err := json.Marshal(info)
	if err != nil {
		return err
	}
	msg := nats.NewMsg("$O." + o.bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(info.Name)))
	msg.Header.Set("Nats-Rollup", "sub")
	msg.Data = data
	_, err = o.engine.js.PublishMsg(ctx, msg)
	return err
}
