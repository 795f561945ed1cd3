package message

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// decoded converts r from a charset to UTF-8. It accepts the names of the IANA registry and those of
// the WHATWG Encoding Standard.
func decoded(name string, r io.Reader) (io.Reader, error) {
	name = strings.ToLower(name)
	for _, name := range []string{name, "cs" + name} {
		if enc := charsets()[name]; enc != nil {
			return enc.NewDecoder().Reader(r), nil
		}
		if enc, err := htmlindex.Get(name); err == nil {
			return enc.NewDecoder().Reader(r), nil
		}
	}
	return nil, fmt.Errorf("charset %q is unknown", name)
}

// charsets returns the charsets of the IANA registry, by lower-case name, that htmlindex does not
// know or maps to a Windows code page. Package ianaindex has the whole registry, but builds its
// tables at the start of every program that links it.
var charsets = sync.OnceValue(func() map[string]encoding.Encoding {
	table := make(map[string]encoding.Encoding)
	for _, c := range []struct {
		enc   encoding.Encoding
		names string
	}{
		{japanese.EUCJP, "extended_unix_code_packed_format_for_japanese"},
		{simplifiedchinese.GB18030, "csgb18030"},
		{simplifiedchinese.GBK, "cp936 csgbk ms936 windows-936"},
		{simplifiedchinese.HZGB2312, "hz-gb-2312"},
		{charmap.CodePage037, "cp037 csibm037 ebcdic-cp-ca ebcdic-cp-nl ebcdic-cp-us ebcdic-cp-wt ibm037"},
		{charmap.CodePage437, "437 cp437 cspc8codepage437 ibm437"},
		{charmap.CodePage850, "850 cp850 cspc850multilingual ibm850"},
		{charmap.CodePage852, "852 cp852 cspcp852 ibm852"},
		{charmap.CodePage855, "855 cp855 csibm855 ibm855"},
		{charmap.CodePage858, "ccsid00858 cp00858 csibm00858 ibm00858 pc-multilingual-850+euro"},
		{charmap.CodePage860, "860 cp860 csibm860 ibm860"},
		{charmap.CodePage862, "862 cp862 cspc862latinhebrew ibm862"},
		{charmap.CodePage863, "863 cp863 csibm863 ibm863"},
		{charmap.CodePage865, "865 cp865 csibm865 ibm865"},
		{charmap.CodePage1047, "csibm1047 ibm-1047 ibm1047"},
		{charmap.CodePage1140, "ccsid01140 cp01140 csibm01140 ebcdic-us-37+euro ibm01140"},
		{charmap.ISO8859_1, "cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso_8859-1 iso_8859-1:1987 " +
			"l1 latin1 ansi_x3.110-1983"},
		{charmap.ISO8859_6E, "csiso88596e iso-8859-6-e iso_8859-6-e"},
		{charmap.ISO8859_6I, "csiso88596i iso-8859-6-i iso_8859-6-i"},
		{charmap.ISO8859_8E, "csiso88598e iso-8859-8-e iso_8859-8-e"},
		{charmap.ISO8859_8I, "iso_8859-8-i"},
		{charmap.ISO8859_9, "csisolatin5 iso-8859-9 iso-ir-148 iso_8859-9 iso_8859-9:1989 l5 latin5"},
		{charmap.ISO8859_10, "iso_8859-10:1992"},
		{charmap.ISO8859_13, "csiso885913"},
		{charmap.ISO8859_14, "csiso885914 iso-celtic iso-ir-199 iso_8859-14 iso_8859-14:1998 l8 latin8"},
		{charmap.ISO8859_15, "csiso885915 latin-9"},
		{charmap.ISO8859_16, "csiso885916 iso-ir-226 iso_8859-16 iso_8859-16:2001 l10 latin10"},
		{charmap.KOI8U, "cskoi8u"},
		{unicode.UTF8, "csutf8 x-utf_8j"},
		{unicode.UTF16(unicode.BigEndian, unicode.UseBOM), "csutf16 utf-16"},
		{unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "csutf16be"},
		{unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "csutf16le"},
		{charmap.Windows874, "cswindows874"},
		{charmap.Windows1250, "cswindows1250"},
		{charmap.Windows1251, "cswindows1251"},
		{charmap.Windows1252, "cswindows1252 ansi_x3.4-1986 cp367 csascii ibm367 iso-ir-6 iso646-us " +
			"iso_646.irv:1991 us"},
		{charmap.Windows1253, "cswindows1253"},
		{charmap.Windows1254, "cswindows1254"},
		{charmap.Windows1255, "cswindows1255"},
		{charmap.Windows1256, "cswindows1256"},
		{charmap.Windows1257, "cswindows1257"},
		{charmap.Windows1258, "cswindows1258"},
	} {
		for name := range strings.FieldsSeq(c.names) {
			table[name] = c.enc
		}
	}
	return table
})
