package ipfs

import (
	"strings"
	"testing"
)

func TestCIDs(t *testing.T) {
	t.Parallel()
	const emptyDir = "bafybeiczsscdsbs7ffqz55asqdf3smv6klcw3gofszvwlyarci47bgf354"
	for _, tt := range []struct{ text, want string }{
		{"QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn", emptyDir},
		{emptyDir, emptyDir},
		{strings.ToUpper(emptyDir), emptyDir},
		{"bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku", "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"},
		{"f01551220e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"},
		{"bafkqaaa", "bafkqaaa"}, // an empty inline block
		{"", ""},
		{"b", ""},
		{"bb", ""},
		{"QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3N0", ""},
		{"xafkqaaa", ""},
		{"f0155000061", ""},                   // a byte too much
		{"f01550002", ""},                     // a digest that is missing
		{"f0255122000", ""},                   // another version
		{"f018055", ""},                       // a number longer than needed
		{"b" + strings.Repeat("a", 1000), ""}, // too long
	} {
		id, err := parseCID(tt.text)
		if got := id.String(); (err == nil) != (tt.want != "") || err == nil && got != tt.want {
			t.Errorf("%.80q: %s, %v, want %q", tt.text, got, err, tt.want)
		}
	}
	empty, _ := parseCID("bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku")
	if !empty.matches(nil) || empty.matches([]byte{0}) {
		t.Error("the digest of an empty block")
	}
	dir, _ := parseCID(emptyDir)
	if !dir.matches([]byte("\x0a\x02\x08\x01")) {
		t.Error("the digest of an empty directory")
	}
}

// The hashes are those of the reference implementation, MurmurHash3_x64_128.
func TestMurmur3(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{
		"": 0, "hello": 0xcbd8a7b341bd9b02, "hello, world": 0x342fac623a5ebc8e,
		"19 Jan 2038 at 3:14:07 AM":                    0xb89e5988b737affc,
		"The quick brown fox jumps over the lazy dog.": 0xcd99481f9ee902c9,
	} {
		if got := murmur3(text); got != want {
			t.Errorf("%q: %x, want %x", text, got, want)
		}
	}
}

func FuzzCID(f *testing.F) {
	f.Add("QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn")
	f.Add("bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku")
	f.Add("k51qzi5uqu5djggsltl09vmy9jfdkva3fbfaxn77dtm0rkqt17h8wp9k055yom")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := parseCID(text)
		if err != nil {
			return
		}
		again, err := parseCID(id.String())
		if err != nil && len(id.digest) <= maxInline || err == nil && again != id {
			t.Errorf("%q is %+v, written as %s and read as %+v, %v", text, id, id, again, err)
		}
	})
}

func FuzzNode(f *testing.F) {
	f.Add([]byte("\x0a\x02\x08\x01"))
	leaf := child{id: cid{codecRaw, hashInline, "x"}, size: 1, name: "0x"}
	f.Add(encode(typeFile, []byte("data"), []child{leaf}, 5))
	f.Add(encode(typeShard, []byte{1}, []child{leaf}, 0, shardFields...))
	f.Add(encode(typeSymlink, []byte("x"), nil, 0, message(nil, 8, number(nil, 1, 1))...))
	f.Fuzz(func(t *testing.T, block []byte) {
		n, err := parseNode(cid{codec: codecDagPB}, block)
		if err != nil {
			return
		}
		total := int64(len(n.data))
		for _, s := range n.sizes {
			total += s
		}
		switch {
		case len(n.links) > maxLinks, n.kind == kindFile && (n.size != total || len(n.sizes) != len(n.links)):
			t.Errorf("%+v", n)
		case n.kind == kindShard:
			for _, l := range n.links {
				if n.position(l) >= 1<<n.bits {
					t.Errorf("%+v", n)
				}
			}
		}
	})
}
