package fetchtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"sync"

	"github.com/urlget/urlget/fetch"
)

// cases are the cases of the suite in running order: simple ones first.
var cases = []testCase{
	{"Empty", func(t *caseTest) { exactBytes(t, emptyFile) }},
	{"OneByte", func(t *caseTest) { exactBytes(t, oneFile) }},
	{"Size64K1", func(t *caseTest) { exactBytes(t, middleFile) }},
	{"Size8M", long(func(t *caseTest) { exactBytes(t, bigFile) })},
	{"AllBytes", func(t *caseTest) { exactBytes(t, bytesFile) }},
	{"Names", names},
	{"Stat", stat},
	{"Range", ranges},
	{"Parallel", parallel},
	{"Reader", reader},
	{"EarlyClose", earlyClose},
	{"List", list},
	{"FileSystem", fileSystem},
	{"ListBreak", listBreak},
	{"ListLimit", listLimit},
	{"ListSecrets", listSecrets},
	{"Operations", operations},
	{"NotFound", notFound},
	{"ListNotFound", listNotFound},
	{"Canceled", canceled},
	{"Cut", cut},
	{"Stall", stall},
	{"IdleTimeout", idleTimeout},
	{"CloseStalled", closeStalled},
	{"Noise", noise},
	{"Injection", injection},
	{"Secrets", secrets},
	{"Dialer", dialer},
	{"Address", address},
	{"Scope", scope},
	{"Explain", explain},
	{"Recorded", recorded},
	{"RecordedEnds", recordedEnds},
	{"Unrecorded", long(unrecorded)},
}

// long marks a case that transfers the largest file several times; see [Long].
func long(run func(*caseTest)) func(*caseTest) {
	return func(t *caseTest) {
		Long(t)
		run(t)
	}
}

// exactBytes reads a file with Read and with io.Copy, then reads and closes the body again.
func exactBytes(t *caseTest, name string) {
	rawURL, want := t.file(name)
	c := t.client(nil)
	ways := []struct {
		name string
		read func(io.Reader) ([]byte, error)
	}{
		{"Read", func(r io.Reader) ([]byte, error) { return io.ReadAll(struct{ io.Reader }{r}) }},
		{"io.Copy", func(r io.Reader) ([]byte, error) {
			var b bytes.Buffer
			_, err := io.Copy(struct{ io.Writer }{&b}, r)
			return b.Bytes(), err
		}},
	}
	for _, way := range ways {
		req := &fetch.Request{URL: t.parse(rawURL)}
		original := *req
		resp, err := c.Do(t.context(), req)
		if err != nil {
			t.Fatalf("Do: %v", err)
		}
		if resp.Size >= 0 && resp.Size != int64(len(want)) {
			t.Errorf("Meta.Size is %d, want %d or -1", resp.Size, len(want))
		}
		if resp.Kind != fetch.KindObject {
			t.Errorf("Meta.Kind of a file is %q", resp.Kind)
		}
		if !resp.Range.IsZero() {
			t.Errorf("Meta.Range is %+v, but no range was requested", resp.Range)
		}
		got, err := way.read(resp.Body)
		if err != nil {
			t.Errorf("%s: %v", way.name, err)
		}
		if diff := difference(got, want); diff != "" {
			t.Errorf("%s: %s", way.name, diff)
		}
		if n, err := resp.Body.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("a Read after the end returned %d bytes and error %v, want 0 and EOF", n, err)
		}
		for range 2 {
			t.within("Close", func() { resp.Body.Close() })
		}
		if !reflect.DeepEqual(*req, original) {
			t.Errorf("the driver changed the request to %+v", *req)
		}
	}
}

// names gets the files in "names".
func names(t *caseTest) {
	c := t.client(nil)
	trialResult := 0
	for _, name := range HardNames {
		rawURL := t.site.URL("names/" + name)
		if rawURL == "" {
			t.Logf("the protocol cannot carry the name %q", name)
			continue
		}
		trialResult++
		resp, err := c.Get(t.context(), rawURL)
		if err != nil {
			t.Errorf("name %q: %v", name, err)
			continue
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Errorf("name %q: reading the body: %v", name, err)
		}
		if diff := difference(got, t.content("names/"+name)); diff != "" {
			t.Errorf("name %q: %s", name, diff)
		}
		if !safeName(resp.Name) {
			t.Errorf("name %q: Meta.Name is %q, which is not a safe path element", name, resp.Name)
		}
	}
	if trialResult == 0 {
		t.Skip("Site.URL has no URL for any of the names")
	}
}

// safeName reports whether name is empty or a safe file name.
func safeName(name string) bool {
	return name != "." && name != ".." && !bytes.ContainsAny([]byte(name), "/\x00\r\n")
}

// stat compares the metadata of Stat with that of Get.
func stat(t *caseTest) {
	c := t.client(nil)
	for _, name := range []string{smallFile, middleFile} {
		rawURL, want := t.file(name)
		got, err := c.Stat(t.context(), &fetch.Request{URL: t.parse(rawURL)})
		if err != nil {
			t.Fatalf("Stat: %v", err)
		}
		resp := t.open(t.context(), c, rawURL)
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if got.Size >= 0 && got.Size != int64(len(want)) {
			t.Errorf("%s: Stat returns size %d, want %d or -1", name, got.Size, len(want))
		}
		if got.Kind != resp.Kind {
			t.Errorf("%s: Stat returns kind %q, Get %q", name, got.Kind, resp.Kind)
		}
		if !got.ModTime.IsZero() && !resp.ModTime.IsZero() && !got.ModTime.Equal(resp.ModTime) {
			t.Errorf("%s: Stat returns time %v, Get %v", name, got.ModTime, resp.ModTime)
		}
		for field, v := range map[string][2]string{
			"ContentType": {got.ContentType, resp.ContentType},
			"ETag":        {got.ETag, resp.ETag},
			"Name":        {got.Name, resp.Name},
		} {
			if v[0] != "" && v[1] != "" && v[0] != v[1] {
				t.Errorf("%s: Stat returns %s %q, Get %q", name, field, v[0], v[1])
			}
		}
	}
	resp, err := c.Do(t.context(), &fetch.Request{URL: t.parse(t.url(smallFile)), Op: fetch.OpStat})
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	if err != nil {
		t.Fatalf("Do with OpStat: %v", err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); n != 0 || err != nil {
		t.Errorf("the body of a Stat has %d bytes and error %v, want 0 and no error", n, err)
	}
}

// ranges compares ranges with the same slices of the content. A driver without ranges must return
// everything and leave Meta.Range zero.
func ranges(t *caseTest) {
	rawURL, want := t.file(middleFile)
	c := t.client(nil)
	can := t.scheme(c, rawURL).Ranges
	size := int64(len(want))
	for _, r := range []fetch.Range{
		{Offset: 0, Length: 1},
		{Offset: 1, Length: 1},
		{Offset: 1, Length: 0},
		{Offset: 100, Length: 1000},
		{Offset: size / 2, Length: 0},
		{Offset: size - 1, Length: 1},
		{Offset: size - 1, Length: 0},
		{Offset: size - 10, Length: 100}, // more than available
		{Offset: 0, Length: size},
		{Offset: -10}, // the last ten; everything if the size is unknown
	} {
		resp, err := c.Do(t.context(), &fetch.Request{URL: t.parse(rawURL), Range: r})
		if err != nil {
			t.Errorf("range %+v: %v", r, err)
			continue
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Errorf("range %+v: reading the body: %v", r, err)
		}
		if !can || r.Offset < 0 && resp.Range.IsZero() {
			if diff := difference(got, want); diff != "" || !resp.Range.IsZero() {
				t.Errorf("range %+v: without ranges, want all bytes and a zero Meta.Range; it is %+v. %s",
					r, resp.Range, diff)
			}
			continue
		}
		r = r.Of(size)
		end := size
		if r.Length > 0 {
			end = min(size, r.Offset+r.Length)
		}
		if diff := difference(got, want[r.Offset:end]); diff != "" {
			t.Errorf("range %+v: %s", r, diff)
		}
		if resp.Range.Offset != r.Offset ||
			resp.Range.Length != r.Length && resp.Range.Length != end-r.Offset || resp.Range.IsZero() {
			t.Errorf("range %+v: Meta.Range is %+v", r, resp.Range)
		}
		if resp.Size >= 0 && resp.Size != end-r.Offset {
			t.Errorf("range %+v: Meta.Size is %d, want %d, the size of the part, or -1", r, resp.Size,
				end-r.Offset)
		}
		if resp.Total > 0 && resp.Total != size {
			t.Errorf("range %+v: Meta.Total is %d, want %d", r, resp.Total, size)
		}
	}
}

// parallel makes 16 requests at the same time with one client.
func parallel(t *caseTest) {
	files := []string{smallFile, "pub/motd", "pub/a/one.txt", middleFile}
	for _, name := range files {
		t.url(name)
	}
	c := t.client(nil)
	ctx := t.context()
	var wg sync.WaitGroup
	for i := range 16 {
		name := files[i%len(files)]
		rawURL, want := t.file(name)
		wg.Go(func() {
			resp, err := c.Get(ctx, rawURL)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Errorf("%s: reading the body: %v", name, err)
			}
			if diff := difference(got, want); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		})
	}
	wg.Wait()
}

// earlyClose closes a body before its first byte, and after it.
func earlyClose(t *caseTest) {
	rawURL, want := t.largest()
	c := t.client(nil)
	for _, size := range []int{0, 1} {
		resp := t.open(t.context(), c, rawURL)
		got := make([]byte, size)
		if _, err := io.ReadFull(resp.Body, got); err != nil {
			t.Errorf("reading %d bytes: %v", size, err)
		}
		for range 2 {
			t.within("Close of a half-read body", func() { resp.Body.Close() })
		}
		if _, err := resp.Body.Read(make([]byte, 1)); err == io.EOF && len(want) > size {
			t.Error("Read of a closed body returns io.EOF")
		}
		t.checkRecovery(c)
	}
}

// canceled checks that nothing is sent after the context was canceled.
func canceled(t *caseTest) {
	rawURL := t.url(smallFile)
	why := errors.New("canceled by the suite")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	got := t.logDuring(func() {
		err := discard(t.client(nil).Get(ctx, rawURL))
		if !errors.Is(err, why) {
			t.Fatalf("error %v, want the cause of the context, %q", err, why)
		}
		t.checkError(err)
	})
	if len(got) > 0 {
		t.Errorf("the server got %q", got)
	}
}

// operations requests operations that the scheme does not declare. They must fail without a
// connection.
func operations(t *caseTest) {
	o := t.options()
	o.DialContext = func(_ context.Context, network, addr string) (net.Conn, error) {
		t.Errorf("connects to %s %s", network, addr)
		return nil, errors.New("refused by the suite")
	}
	c := t.client(o)
	s := t.scheme(c, t.url(smallFile))
	if !s.Can(fetch.OpGet) {
		t.Errorf("Scheme.Ops of %s is %v, without OpGet", s.Name, s.Ops)
	}
	for _, op := range []fetch.Op{fetch.OpStat, fetch.OpList, fetch.OpDial, 200} {
		if s.Can(op) {
			continue
		}
		err := discard(c.Do(t.context(), &fetch.Request{URL: t.parse(t.url(smallFile)), Op: op}))
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("operation %q is not in Scheme.Ops; error %v, want one matching errors.ErrUnsupported",
				op, err)
		}
	}
}

// notFound requests a missing file.
func notFound(t *caseTest) {
	rawURL := t.url(absentFile)
	c := t.client(nil)
	t.checkNotFound("Get", t.drain(c, rawURL))
	_, err := c.Stat(t.context(), &fetch.Request{URL: t.parse(rawURL)})
	t.checkNotFound("Stat", err)
	t.checkRecovery(c)
}

// listNotFound lists a missing directory.
func listNotFound(t *caseTest) {
	t.url(".")
	rawURL := t.url(absentDir)
	c := t.client(nil)
	if !t.scheme(c, rawURL).Can(fetch.OpList) {
		t.Skip("the scheme has no OpList")
	}
	var err error
	for _, err = range c.List(t.context(), rawURL) {
	}
	t.checkNotFound("List", err)
	t.checkRecovery(c)
}
