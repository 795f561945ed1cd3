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
	"iter"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/internal/artefact"
)

// An objectStore is a queue.Store in a JetStream object store, readable by all NATS clients. The
// body with digest abcd… is the object sha256/ab/abcd…
type objectStore struct {
	engine    *Engine
	store     js.ObjectStore
	stream    js.Stream
	bucket    string
	publisher js.JetStream // limits unacknowledged messages
	spool     string
}

const (
	// chunkSize is the size of the messages (chunks) of an object. maxPending is how many are
	// unacknowledged at most.
	chunkSize    = 128 << 10
	maxPending   = 8
	chunkTimeout = 10 * time.Second
)

// Objects opens the object store of the queue and creates it if needed. Incomplete bodies are in
// files in the directory spool, or in the system's directory for temporary files if it is empty.
func (e *Engine) Objects(ctx context.Context, spool string) (queue.Store, error) {
	o := &objectStore{engine: e, bucket: e.opts.Name, spool: spool}
	err := o.guard(ctx, func(ctx context.Context) (err error) {
		o.store, err = e.js.ObjectStore(ctx, o.bucket)
		if errors.Is(err, js.ErrBucketNotFound) {
			o.store, err = e.js.CreateObjectStore(ctx,
				js.ObjectStoreConfig{Bucket: o.bucket, Storage: js.FileStorage,
					Replicas:    e.results.CachedInfo().Config.Replicas,
					Description: "contents by their digests"})
			if errors.Is(err, js.ErrBucketExists) {
				o.store, err = e.js.ObjectStore(ctx, o.bucket)
			}
		}
		if err == nil {
			o.stream, err = e.js.Stream(ctx, "OBJ_"+o.bucket)
		}
		return err
	})
	if err == nil {
		o.publisher, err = js.New(e.conn, js.WithPublishAsyncMaxPending(maxPending),
			js.WithPublishAsyncTimeout(chunkTimeout))
	}
	if err != nil {
		return nil, explain(&e.opts, err)
	}
	return o, nil
}

// guard ends do if the server denies a request about the object store.
func (o *objectStore) guard(ctx context.Context, do func(context.Context) error) error {
	return o.engine.operations.guard(ctx, do, "OBJ_"+o.bucket, "$O."+o.bucket)
}

// Begin implements queue.Store.
func (o *objectStore) Begin() (queue.Spool, error) { return artefact.NewSpool(o.spool, o.commit) }

// Get implements queue.Store.
func (o *objectStore) Get(ctx context.Context, sum string) (io.ReadCloser, error) {
	if err := artefact.Check(sum); err != nil {
		return nil, err
	}
	_, err := o.info(ctx, sum)
	var r js.ObjectResult
	if err == nil {
		r, err = o.store.Get(ctx, artefact.Path(sum)) // uses ctx until r is closed
	}
	if errors.Is(err, js.ErrObjectNotFound) {
		return nil, &fetch.Error{Code: fetch.ErrNotFound,
			Err: fmt.Errorf("%s is not in the object store", sum)}
	}
	if err != nil {
		return nil, explain(&o.engine.opts, err)
	}
	return artefact.Verify(object{r}, sum), nil
}

// List implements queue.Lister.
func (o *objectStore) List(ctx context.Context) iter.Seq2[queue.Content, error] {
	return func(yield func(queue.Content, error) bool) {
		var list []*js.ObjectInfo
		err := o.guard(ctx, func(ctx context.Context) (err error) {
			list, err = o.store.List(ctx)
			return err
		})
		if err != nil && !errors.Is(err, js.ErrNoObjectsFound) {
			yield(queue.Content{}, explain(&o.engine.opts, err))
			return
		}
		for _, info := range list {
			sum, ok := artefact.Sum(info.Name)
			if ok && !info.Deleted &&
				!yield(queue.Content{SHA256: sum, Size: int64(info.Size), Time: info.ModTime}, nil) {
				return
			}
		}
	}
}

// Remove implements queue.Lister.
func (o *objectStore) Remove(ctx context.Context, sum string) error {
	if err := artefact.Check(sum); err != nil {
		return err
	}
	err := o.guard(ctx, func(ctx context.Context) error { return o.store.Delete(ctx, artefact.Path(sum)) })
	if err == nil || errors.Is(err, js.ErrObjectNotFound) {
		return nil
	}
	return explain(&o.engine.opts, err)
}

// An object converts the digest error of the client to class fetch.ErrChecksum.
type object struct{ js.ObjectResult }

func (o object) Read(p []byte) (int, error) {
	n, err := o.ObjectResult.Read(p)
	if errors.Is(err, js.ErrDigestMismatch) {
		err = &fetch.Error{Code: fetch.ErrChecksum, Err: err}
	}
	return n, err
}

// commit uploads a body. It holds a lock, and first removes chunks left by a worker that crashed.
func (o *objectStore) commit(ctx context.Context, f *os.File, sum string) (string, error) {
	err := queue.WithLock(ctx, o.engine, "object/"+sum,
		func(ctx context.Context) (bool, error) { return o.holds(ctx, sum) },
		func(ctx context.Context) error {
			if err := o.guard(ctx,
				func(ctx context.Context) error { return o.put(ctx, sum, f) }); err != nil {
				return o.engine.explainDenied(err)
			}
			ok, err := o.has(ctx, sum)
			if !ok && err == nil {
				err = errors.New("chunks are missing")
			}
			return err
		})
	if err != nil {
		return "", fmt.Errorf("object %s: %w", sum, err)
	}
	return artefact.Path(sum), nil
}

func (o *objectStore) chunks(id string) string { return "$O." + o.bucket + ".C." + id }

func (o *objectStore) info(ctx context.Context, sum string) (info *js.ObjectInfo, err error) {
	err = o.guard(ctx, func(ctx context.Context) error {
		info, err = o.store.GetInfo(ctx, artefact.Path(sum))
		return err
	})
	return info, o.engine.explainDenied(err)
}

// has reports whether the body is stored with all its chunks.
func (o *objectStore) has(ctx context.Context, sum string) (bool, error) {
	info, err := o.info(ctx, sum)
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

// holds reports whether the stored body has its digest. Others may have replaced it.
func (o *objectStore) holds(ctx context.Context, sum string) (bool, error) {
	if has, err := o.has(ctx, sum); !has || err != nil {
		return false, err
	}
	r, err := o.Get(ctx, sum)
	if err != nil {
		return false, err
	}
	return artefact.Holds(r)
}

// put writes an object: first its chunks, each acknowledged, then its metadata. The NATS client
// would have thousands of chunks in flight and send the metadata before all of them are
// acknowledged.
func (o *objectStore) put(ctx context.Context, sum string, f *os.File) error {
	if err := o.stream.Purge(ctx, js.WithPurgeSubject(o.chunks(sum+".*"))); err != nil {
		return err
	}
	info := js.ObjectInfo{Bucket: o.bucket, NUID: sum + "." + rand.Text()}
	info.Name, info.Opts = artefact.Path(sum), &js.ObjectMetaOptions{ChunkSize: chunkSize}
	digest := sha256.New()
	if err := o.upload(ctx, io.TeeReader(f, digest), &info); err != nil {
		return err
	}
	if hex.EncodeToString(digest.Sum(nil)) != sum {
		return errors.New("the temporary file does not contain the received bytes")
	}
	info.Digest = js.GetObjectDigestValue(digest)
	data, err := json.Marshal(info)
	if err != nil {
		return err
	}
	msg := nats.NewMsg("$O." + o.bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(info.Name)))
	msg.Header.Set(js.MsgRollup, js.MsgRollupSubject)
	msg.Data = data
	_, err = o.engine.js.PublishMsg(ctx, msg)
	return err
}

// upload publishes the chunks of an object and counts them in info. It returns when all are
// acknowledged.
func (o *objectStore) upload(ctx context.Context, r io.Reader, info *js.ObjectInfo) error {
	var pending []js.PubAckFuture
	wait := func(limit int) error { // waits until at most so many are pending
		for ; len(pending) > limit; pending = pending[1:] {
			select {
			case <-pending[0].Ok():
			case err := <-pending[0].Err():
				return err
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	}
	for {
		chunk := make([]byte, chunkSize) // owned by the client until acknowledged
		n, err := io.ReadFull(r, chunk)
		if n > 0 {
			info.Size += uint64(n)
			info.Chunks++
			future, err := o.publisher.PublishAsync(o.chunks(info.NUID), chunk[:n])
			if err != nil {
				return err
			}
			pending = append(pending, future)
			if err := wait(maxPending - 1); err != nil {
				return err
			}
		}
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return wait(0)
		}
		if err != nil {
			return err
		}
	}
}
