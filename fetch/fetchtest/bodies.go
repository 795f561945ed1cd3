package fetchtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"sync"

	"github.com/urlget/urlget/fetch"
)

// cases are all the rules, in the order in which they are tried: the simple
// before what builds on it.
var cases = []testCase{
	{"Empty", func(e *exam) { exactBytes(e, emptyFile) }},
	{"OneOctet", func(e *exam) { exactBytes(e, oneFile) }},
	{"Size64K1", func(e *exam) { exactBytes(e, middleFile) }},
	{"Size8M", func(e *exam) { exactBytes(e, bigFile) }},
	{"AllOctets", func(e *exam) { exactBytes(e, octetsFile) }},
	{"Names", names},
	{"Stat", stat},
	{"Range", ranges},
	{"Parallel", parallel},
	{"EarlyClose", earlyClose},
	{"List", list},
	{"ListBreak", listBreak},
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
	{"Explain", explain},
}

// exactBytes reads a file in both ways that there are, and does what may be
// done with a body at its end.
func exactBytes(e *exam, name string) {
	rawURL, want := e.file(name)
	c := e.client(nil)
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
		req := &fetch.Request{URL: e.parse(rawURL)}
		asked := *req
		resp, err := c.Do(e.context(), req)
		if err != nil {
			e.Fatalf("Do: %v", err)
		}
		if resp.Size >= 0 && resp.Size != int64(len(want)) {
			e.Errorf("Meta.Size is %d, want %d or -1", resp.Size, len(want))
		}
		if resp.Kind != fetch.KindObject {
			e.Errorf("Meta.Kind of a file is %q", resp.Kind)
		}
		if !resp.Range.IsZero() {
			e.Errorf("Meta.Range is %+v, though no range was asked for", resp.Range)
		}
		got, err := way.read(resp.Body)
		if err != nil {
			e.Errorf("%s: %v", way.name, err)
		}
		if diff := difference(got, want); diff != "" {
			e.Errorf("%s: %s", way.name, diff)
		}
		if n, err := resp.Body.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			e.Errorf("a Read after the end returned %d octets and error %v, want 0 and EOF", n, err)
		}
		for range 2 {
			e.within("Close", func() { resp.Body.Close() })
		}
		if !reflect.DeepEqual(*req, asked) {
			e.Errorf("the driver changed the request to %+v", *req)
		}
	}
}

// names fetches the files with the hard names.
func names(e *exam) {
	c := e.client(nil)
	tried := 0
	for _, name := range HardNames {
		rawURL := e.site.URL("names/" + name)
		if rawURL == "" {
			e.Logf("the name %q cannot be carried", name)
			continue
		}
		tried++
		resp, err := c.Get(e.context(), rawURL)
		if err != nil {
			e.Errorf("name %q: %v", name, err)
			continue
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			e.Errorf("name %q: reading the body: %v", name, err)
		}
		if diff := difference(got, e.content("names/"+name)); diff != "" {
			e.Errorf("name %q: %s", name, diff)
		}
		if !safeName(resp.Name) {
			e.Errorf("name %q: Meta.Name is %q, which is not one safe path element", name, resp.Name)
		}
	}
	if tried == 0 {
		e.Skip("Site.URL has no URL for any of the names")
	}
}

// safeName reports whether name can be a suggested file name, or is empty.
func safeName(name string) bool {
	return name != "." && name != ".." && !bytes.ContainsAny([]byte(name), "/\x00\r\n")
}

// stat compares what Stat says with what Get says.
func stat(e *exam) {
	c := e.client(nil)
	for _, name := range []string{smallFile, middleFile} {
		rawURL, want := e.file(name)
		got, err := c.Stat(e.context(), rawURL)
		if err != nil {
			e.Fatalf("Stat: %v", err)
		}
		resp := e.open(e.context(), c, rawURL)
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if got.Size >= 0 && got.Size != int64(len(want)) {
			e.Errorf("%s: Stat says %d octets, want %d or -1", name, got.Size, len(want))
		}
		if got.Kind != resp.Kind {
			e.Errorf("%s: Stat says %q, Get %q", name, got.Kind, resp.Kind)
		}
		if !got.ModTime.IsZero() && !resp.ModTime.IsZero() && !got.ModTime.Equal(resp.ModTime) {
			e.Errorf("%s: Stat says changed %v, Get %v", name, got.ModTime, resp.ModTime)
		}
		for field, v := range map[string][2]string{
			"ContentType": {got.ContentType, resp.ContentType},
			"ETag":        {got.ETag, resp.ETag},
			"Name":        {got.Name, resp.Name},
		} {
			if v[0] != "" && v[1] != "" && v[0] != v[1] {
				e.Errorf("%s: Stat says %s is %q, Get %q", name, field, v[0], v[1])
			}
		}
	}
	resp, err := c.Do(e.context(), &fetch.Request{URL: e.parse(e.url(smallFile)), Op: fetch.OpStat})
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	if err != nil {
		e.Fatalf("Do with OpStat: %v", err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); n != 0 || err != nil {
		e.Errorf("the body of a Stat has %d octets and error %v, want 0 and none", n, err)
	}
}

// ranges compares parts with the slices they are. A driver without ranges must
// deliver all, and say so.
func ranges(e *exam) {
	rawURL, want := e.file(middleFile)
	c := e.client(nil)
	can := e.scheme(c, rawURL).Ranges
	size := int64(len(want))
	for _, r := range []fetch.Range{
		{Offset: 0, Length: 1},
		{Offset: 1, Length: 1},
		{Offset: 1, Length: 0},
		{Offset: 100, Length: 1000},
		{Offset: size / 2, Length: 0},
		{Offset: size - 1, Length: 1},
		{Offset: size - 1, Length: 0},
		{Offset: size - 10, Length: 100}, // more than there is
		{Offset: 0, Length: size},
	} {
		resp, err := c.Do(e.context(), &fetch.Request{URL: e.parse(rawURL), Range: r})
		if err != nil {
			e.Errorf("range %+v: %v", r, err)
			continue
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			e.Errorf("range %+v: reading the body: %v", r, err)
		}
		if !can {
			if diff := difference(got, want); diff != "" || !resp.Range.IsZero() {
				e.Errorf("range %+v: the scheme has no ranges, so all should come and Meta.Range be zero; it is %+v. %s",
					r, resp.Range, diff)
			}
			continue
		}
		end := size
		if r.Length > 0 {
			end = min(size, r.Offset+r.Length)
		}
		if diff := difference(got, want[r.Offset:end]); diff != "" {
			e.Errorf("range %+v: %s", r, diff)
		}
		if resp.Range.Offset != r.Offset || resp.Range.Length != r.Length && resp.Range.Length != end-r.Offset || resp.Range.IsZero() {
			e.Errorf("range %+v: Meta.Range is %+v", r, resp.Range)
		}
		if resp.Size >= 0 && resp.Size != end-r.Offset {
			e.Errorf("range %+v: Meta.Size is %d, want %d, the size of the part, or -1", r, resp.Size, end-r.Offset)
		}
		if resp.Total > 0 && resp.Total != size {
			e.Errorf("range %+v: Meta.Total is %d, want %d", r, resp.Total, size)
		}
	}
}

// parallel lets one client do 16 things at once.
func parallel(e *exam) {
	files := []string{smallFile, "pub/motd", "pub/a/one.txt", middleFile}
	for _, name := range files {
		e.url(name)
	}
	c := e.client(nil)
	ctx := e.context()
	var wg sync.WaitGroup
	for i := range 16 {
		name := files[i%len(files)]
		rawURL, want := e.file(name)
		wg.Go(func() {
			resp, err := c.Get(ctx, rawURL)
			if err != nil {
				e.Errorf("%s: %v", name, err)
				return
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err != nil {
				e.Errorf("%s: reading the body: %v", name, err)
			}
			if diff := difference(got, want); diff != "" {
				e.Errorf("%s: %s", name, diff)
			}
		})
	}
	wg.Wait()
}

// earlyClose leaves a body after an octet, and after none.
func earlyClose(e *exam) {
	rawURL, want := e.largest()
	c := e.client(nil)
	for _, octets := range []int{0, 1} {
		resp := e.open(e.context(), c, rawURL)
		got := make([]byte, octets)
		if _, err := io.ReadFull(resp.Body, got); err != nil {
			e.Errorf("reading %d octets: %v", octets, err)
		}
		for range 2 {
			e.within("Close of a half-read body", func() { resp.Body.Close() })
		}
		if _, err := resp.Body.Read(make([]byte, 1)); err == io.EOF && len(want) > octets {
			e.Error("a closed body reads as if it had ended")
		}
		e.recovers(c)
	}
}

// canceled checks that nothing is sent once the context has ended.
func canceled(e *exam) {
	rawURL := e.url(smallFile)
	why := errors.New("the caller changed his mind")
	ctx, cancel := context.WithCancelCause(e.Context())
	cancel(why)
	got := e.heard(func() {
		err := discard(e.client(nil).Get(ctx, rawURL))
		if !errors.Is(err, why) {
			e.Fatalf("error %v, want the cause of the context, %q", err, why)
		}
		e.checkError(err)
	})
	if len(got) > 0 {
		e.Errorf("the server got %q", got)
	}
}

// operations asks for what the scheme says it cannot do.
func operations(e *exam) {
	c := e.client(nil)
	s := e.scheme(c, e.url(smallFile))
	if !s.Can(fetch.OpGet) {
		e.Errorf("Scheme.Ops of %s is %v, without OpGet", s.Name, s.Ops)
	}
	for _, op := range []fetch.Op{fetch.OpStat, fetch.OpList, fetch.OpDial, 200} {
		if s.Can(op) {
			continue
		}
		err := discard(c.Do(e.context(), &fetch.Request{URL: e.parse(e.url(smallFile)), Op: op}))
		if !errors.Is(err, errors.ErrUnsupported) {
			e.Errorf("operation %q is not in Scheme.Ops; error %v, want one matching errors.ErrUnsupported", op, err)
		}
	}
}

// notFound asks for what is not there.
func notFound(e *exam) {
	rawURL := e.url(absentFile)
	c := e.client(nil)
	e.checkNotFound("Get", e.drain(c, rawURL))
	_, err := c.Stat(e.context(), rawURL)
	e.checkNotFound("Stat", err)
	e.recovers(c)
}

// listNotFound lists what is not there.
func listNotFound(e *exam) {
	e.url(".")
	rawURL := e.url(absentDir)
	c := e.client(nil)
	if !e.scheme(c, rawURL).Can(fetch.OpList) {
		e.Skip("the scheme has no OpList")
	}
	var err error
	for _, err = range c.List(e.context(), rawURL) {
	}
	e.checkNotFound("List", err)
	e.recovers(c)
}
