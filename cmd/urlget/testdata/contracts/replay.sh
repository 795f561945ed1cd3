# replay.sh COMMAND [FLAG]: replays each URL of the archive, without times, texts for people and the
# fields "capture" and "framed_by_close", which later versions have.
cd "$(dirname "$0")" || exit 1
while read -r u; do
	urlget "$@" --replay all.warc.gz "$u" 2>/dev/null
done <urls | sed -E 's/,"capture":\{[^}]*\}//;s/,"framed_by_close":true//;s/"time":"[^"]*"/"time":"T"/;s/"seconds":[0-9.e-]+/"seconds":0/;s/,"message":.*/}/'
