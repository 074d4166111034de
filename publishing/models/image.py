"""Images that authors upload for letters."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Length, Now

LARGEST_IMAGE = 2 * 1024 * 1024
models.BinaryField.register_lookup(Length)


class UploadedImage(models.Model):
    """An image, small enough for mail and without metadata. It is kept while a letter shows it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    sha256 = models.BinaryField()
    name = models.CharField(max_length=200)
    content_type = models.CharField(max_length=20)
    width = models.PositiveIntegerField(help_text="Pixels.")
    height = models.PositiveIntegerField(help_text="Pixels.")
    content = models.BinaryField()
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    uploaded_at = models.DateTimeField(db_default=Now())
    unused_since = models.DateTimeField(
        null=True,
        help_text="Since when it was found in no letter, at every look; null: in one, or not "
        "looked at.",
    )

    class Meta:
        db_table = "uploaded_image"
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(name="an_image_is_stored_once", fields=["sha256"]),
            models.CheckConstraint(
                name="image_type_is_shown_by_mail",
                condition=Q(
                    content_type__in=["image/png", "image/jpeg", "image/gif", "image/webp"]
                ),
            ),
            models.CheckConstraint(
                name="image_size_is_limited", condition=Q(content__length__lte=LARGEST_IMAGE)
            ),
        ]

    def __str__(self) -> str:
        return self.name


class UploadAttempts(models.Model):
    """How many images an author tried to upload in the hour that began with the first try."""

    author = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    since = models.DateTimeField(help_text="The first try of the hour.")
    tries = models.PositiveIntegerField(help_text="Tries since then, failed ones included.")

    class Meta:
        db_table = "upload_attempts"
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.tries} since {self.since}"
