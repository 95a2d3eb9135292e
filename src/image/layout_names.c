/* SPDX-License-Identifier: MIT */
/* layout_names.c - what the names of datasets, groups and axes tell. */
#include <ctype.h>
#include <strings.h>

#include "image_int.h"

/* A name may have 64 KiB: what is beyond these limits tells nothing. */
#define NAME_MAX_COMPARED 255
#define NAME_MAX_WORDS 64

static const struct {
	uint32_t bit;
	const char *words; /* each between blanks */
} word_lists[] = {
	{ W_STRONG,
	  " image images img imgs picture pictures pic pics photo photos frame"
	  " frames rgb rgba bgr gray grey grayscale pixel pixels patch patches"
	  " slice slices recon reconstruction cam camera cameras view depth"
	  " depths disparity thumbnail mask masks seg segmentation segmap"
	  " segmaps ct mri hu volume volumes vol scan scans video videos"
	  " observation observations radiance reflectance color colors colour"
	  " colours infrared thermal " },
	{ W_SINGULAR,
	  " image img picture pic photo frame rgb gray grey slice depth"
	  " disparity mask seg segmap thumbnail radiance reflectance recon"
	  " reconstruction infrared thermal " },
	{ W_WEAK, " x data input inputs lr hr raw sr y target label labels gt"
		  " train test val obs main " },
	{ W_NEG,
	  " weight weights kernel bias gamma beta mean var std embedding"
	  " embeddings embed emb feature features feat feats logits logit score"
	  " scores prob bbox bboxes bb box boxes coord coords coordinate"
	  " coordinates pos position positions pose poses keypoint keypoints"
	  " landmarks point points cloud pointcloud xyz pc normal normals action"
	  " actions state states qpos qvel reward rewards done dones kspace"
	  " theta time timestamp timestamps index idx indices ids token tokens"
	  " text onehot seq sequence latent latents factor factors attention"
	  " attn audio mel spectrogram mfcc palette vertices faces mesh joint"
	  " joints force torque velocity hist histogram histograms param params"
	  " optimizer grad proj conv bn fc linear norm mlp matrix intrinsics"
	  " extrinsics adjacency gram trace traces neighbors distances layers"
	  " spike spikes quickdraw cov " },
	{ W_MASK, " mask masks seg segmentation segmap segmaps label labels"
		  " gt " },
	{ W_LABEL, " label labels y target targets class classes category"
		   " categories ans answer answers gt digit digits " },
	{ W_SET, " x image images img imgs data inputs input patches frames"
		 " jpegs jpeg pictures samples " },
	{ W_MODEL, " layers weights policy optimizer vars " },
	{ W_SUPER, " lr hr sr " },
	{ W_POINTS, " points xyz pc pointcloud data " },
	{ W_CLOUD, " points xyz pc pointcloud " },
	{ W_MATRIX, " matrix gram adjacency cov " },
	{ W_STACK,
	  " frames slices masks labels volume stack scan recon reconstruction"
	  " depths segmaps imgs images clefts ct mri vol hu patches " },
	{ W_LIST, " names map list idx index " },
};

static const struct {
	char role;
	const char *words;
} axis_lists[] = {
	{ 'y', " y lat latitude height h row rows line lines ydim " },
	{ 'x', " x lon longitude width w col cols column columns xdim"
	       " sample_x " },
	{ 'c', " c ch chan channel channels band bands rgb rgba color colour"
	       " spectral " },
};

static const char *const image_suffixes[] = {
	".png",	 ".jpg", ".jpeg", ".bmp", ".tif",
	".tiff", ".gif", ".pgm",  ".ppm", ".webp",
};

const char *const layout_class_name_lists[] = {
	"list_classes", "class_names", "classnames",   "label_names",
	"labels_names", "classes",     "categories",   "names",
	"label_map",	"class_map",   "class_to_idx", NULL,
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

struct word_at {
	const char *at;
	size_t len;
};

/* The next word at or after *pos: letters, up to a lower-to-upper change. */
static bool next_word(const char **pos, struct word_at *ret_word)
{
	const char *p = *pos, *start;

	while (*p && !is_letter(*p))
		p++;
	if (!*p)
		return false;
	start = p++;
	while (is_letter(*p) &&
	       !(islower((unsigned char)p[-1]) && isupper((unsigned char)*p)))
		p++;
	ret_word->at = start;
	ret_word->len = (size_t)(p - start);
	*pos = p;
	return true;
}

static bool in_list(const char *list, const char *word, size_t len)
{
	while (*list) {
		size_t n = strcspn(++list, " ");

		if (n == len && len && !strncasecmp(list, word, len))
			return true;
		list += n;
		if (!list[0] || !list[1])
			break;
	}
	return false;
}

static uint32_t word_bits(const char *word, size_t len)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < ARRAY_SIZE(word_lists); i++)
		if (in_list(word_lists[i].words, word, len))
			bits |= word_lists[i].bit;
	return bits;
}

/* "agentviewimage", "fimgs": the ending counts as a word of its own. */
static struct word_at image_ending(struct word_at w)
{
	static const char *const endings[] = { "image", "images", "img",
					       "imgs" };

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		size_t n = strlen(endings[i]);

		if (w.len > n && !strncasecmp(w.at + w.len - n, endings[i], n))
			return (struct word_at){ w.at + w.len - n, n };
	}
	return (struct word_at){ w.at, 0 };
}

uint32_t name_words(const char *name)
{
	uint32_t bits = 0;
	struct word_at w, ending;

	for (int i = 0; i < NAME_MAX_WORDS && next_word(&name, &w); i++) {
		bits |= word_bits(w.at, w.len);
		ending = image_ending(w);
		if (ending.len)
			bits |= word_bits(ending.at, ending.len);
	}
	return bits;
}

bool layout_is_mask_name(const char *name)
{
	return name_words(name) & W_MASK;
}

static bool has_word(const char *name, struct word_at word)
{
	struct word_at w, e;

	while (next_word(&name, &w)) {
		e = image_ending(w);
		if (w.len == word.len && !strncasecmp(w.at, word.at, w.len))
			return true;
		if (e.len && e.len == word.len &&
		    !strncasecmp(e.at, word.at, e.len))
			return true;
	}
	return false;
}

/* Is every word of a that is not in skip_a a word of b outside skip_b? */
static bool rest_within(const char *a, uint32_t skip_a, const char *b,
			uint32_t skip_b)
{
	struct word_at w[2];

	while (next_word(&a, &w[0])) {
		w[1] = image_ending(w[0]);
		for (int i = 0; i < 2; i++) {
			uint32_t bits = word_bits(w[i].at, w[i].len);

			if (!w[i].len || bits & skip_a)
				continue;
			if (bits & skip_b || !has_word(b, w[i]))
				return false;
		}
	}
	return true;
}

bool name_rest_equal(const char *set, const char *label)
{
	if (strlen(set) > NAME_MAX_COMPARED ||
	    strlen(label) > NAME_MAX_COMPARED)
		return false;
	return rest_within(set, W_SET, label, W_LABEL) &&
	       rest_within(label, W_LABEL, set, W_SET);
}

static uint64_t word_hash(struct word_at w)
{
	uint64_t hash = w.len;

	for (size_t i = 0; i < w.len; i++)
		hash = hash_mix(hash,
				(uint64_t)tolower((unsigned char)w.at[i]));
	return hash;
}

uint64_t name_rest_key(const char *name, uint32_t skip)
{
	uint64_t low = UINT64_MAX, high = 0;
	struct word_at w[2];

	while (next_word(&name, &w[0])) {
		w[1] = image_ending(w[0]);
		for (int i = 0; i < 2; i++) {
			uint64_t hash;

			if (!w[i].len || word_bits(w[i].at, w[i].len) & skip)
				continue;
			hash = word_hash(w[i]); /* twice is once */
			low = min_u64(low, hash);
			high = max_u64(high, hash);
		}
	}
	return hash_mix(low, high);
}

bool name_has_rest(const char *label)
{
	struct word_at w;

	while (next_word(&label, &w))
		if (!(word_bits(w.at, w.len) & W_LABEL))
			return true;
	return false;
}

bool layout_has_image_suffix(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(image_suffixes); i++) {
		size_t k = strlen(image_suffixes[i]);

		if (n >= k && !strcasecmp(name + n - k, image_suffixes[i]))
			return true;
	}
	return false;
}

char name_axis_role(const char *name)
{
	size_t len;

	while (isspace((unsigned char)*name))
		name++;
	len = strlen(name);
	while (len && isspace((unsigned char)name[len - 1]))
		len--;
	for (int whole = 1; whole >= 0; whole--) {
		for (size_t i = 0; i < ARRAY_SIZE(axis_lists); i++)
			if (in_list(axis_lists[i].words, name, len))
				return axis_lists[i].role;
		len = min_u64(len, strcspn(name, "_"));
	}
	return 0;
}

static bool pattern_fits(const char *path, const char *pattern)
{
	for (; *pattern; pattern++) {
		bool fits;

		switch (*pattern) {
		case '#':
		case '0':
			fits = is_digit(*path);
			break;
		case '~':
			fits = is_digit(*path) ||
			       (*path >= 'a' && *path <= 'f');
			break;
		default:
			fits = *path == *pattern;
			break;
		}
		if (!fits)
			return false;
		path++;
		while (*pattern == '#' && is_digit(*path))
			path++;
	}
	return !*path;
}

bool path_matches(const char *path, const char *pattern, bool tail)
{
	if (!tail)
		return pattern_fits(path, pattern);
	for (; path; path = strchr(path + 1, '/'))
		if (pattern_fits(path, pattern))
			return true;
	return false;
}

void path_parent_name(const char *path, char *ret_name, size_t size)
{
	const char *end = strrchr(path, '/'), *start;
	size_t n;

	*ret_name = '\0';
	if (!end || end == path)
		return;
	for (start = end; start > path && start[-1] != '/'; start--)
		;
	n = min_u64((uint64_t)(end - start), size - 1);
	memcpy(ret_name, start, n);
	ret_name[n] = '\0';
}
